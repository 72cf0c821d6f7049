"""Unyoke finds the trade-offs of expensive objectives by measuring each only when it is worth its price.

>>> import unyoke as uk
>>> problem = uk.Problem(
...     parameters={"thickness": uk.Real(1, 5)},
...     objectives={"mass": uk.Minimise(cost=1), "deflection": uk.Minimise(cost=10)})
>>> study = uk.Study.open(None, problem)           # or a path, or postgres://...?study=beam
>>> @study.measures("mass")                        # keyword arguments are the parameters
... def mass(thickness):
...     return thickness
>>> @study.measures("deflection")
... def deflection(thickness):
...     return 1 / thickness ** 3
>>> study.run(budget=60).ending
'budget'
>>> front = study.front(10)
>>> len(front) > 1
True
"""

from . import errors
from ._engine import version as __version__
from .errors import (
    DataError,
    Error,
    Exhausted,
    NoStudy,
    ProblemError,
    RunError,
    StateError,
    StoreError,
    StudyFileError,
)
from .jobs import Command, Hand, Local, Slurm
from .outcome import Result
from .problem import (
    AtLeast,
    AtMost,
    Choice,
    Int,
    Maximise,
    Measurement,
    Minimise,
    Problem,
    Real,
)
from .program import program
from .running import Summary
from .study import Study
from .views import Explanation, Front, Point, Suggestion

__all__ = [
    "AtLeast",
    "AtMost",
    "Choice",
    "Command",
    "DataError",
    "Error",
    "Exhausted",
    "Explanation",
    "Front",
    "Hand",
    "Int",
    "Local",
    "Maximise",
    "Measurement",
    "Minimise",
    "NoStudy",
    "Point",
    "Problem",
    "ProblemError",
    "Real",
    "Result",
    "RunError",
    "Slurm",
    "StateError",
    "StoreError",
    "Study",
    "StudyFileError",
    "Suggestion",
    "Summary",
    "__version__",
    "errors",
    "program",
]
