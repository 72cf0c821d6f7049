"""What is optimised: parameters, objectives, constraints and measurements, in the words of study files.

Everything is checked by the engine, when a `Problem` is made.
"""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, Union

from . import _engine
from .errors import DataError, ProblemError

__all__ = [
    "AtLeast",
    "AtMost",
    "Choice",
    "Int",
    "Maximise",
    "Measurement",
    "Minimise",
    "Problem",
    "Real",
]

#: A number, a formula of the parameters, or `{"learn": "time", "guess": 5.0}`.
Cost = Union[float, str, Mapping[str, Any]]
#: `None` or `"none"`: deterministic; `"unknown"`: to be learned; a number: its standard deviation.
Noise = Union[float, Literal["none", "unknown"], None]
#: A value of a parameter.
Value = Union[float, int, str]


@dataclass(frozen=True)
class Real:
    """A number between two bounds.

    >>> Real(1e-3, 0.1, log=True)
    Real(low=0.001, high=0.1, log=True, step=None, digits=None)
    """

    low: float
    high: float
    #: Equal ratios count the same, not equal differences.
    log: bool = False
    #: Only low, low + step and so on are suggested.
    step: float | None = None
    #: The same, as digits after the point.
    digits: int | None = None

    def _written(self, name: str) -> dict[str, Any]:
        written: dict[str, Any] = {
            "type": "continuous",
            "name": name,
            "low": number(self.low, f"{name}: low"),
            "high": number(self.high, f"{name}: high"),
        }
        if truth(self.log, f"{name}: log"):
            written["scale"] = "log"
        if self.digits is not None:
            if self.step is not None:
                raise ProblemError(f"parameters[{name!r}]: digits cannot be combined with step")
            written["step"] = float(f"1e-{integer(self.digits, f'{name}: digits')}")
        elif self.step is not None:
            written["step"] = number(self.step, f"{name}: step")
        return written

    def _value(self, value: Any, name: str) -> Value:
        return number(value, name)


@dataclass(frozen=True)
class Int:
    """An integer between two bounds, both included."""

    low: int
    high: int
    #: Equal ratios count the same, not equal differences.
    log: bool = False

    def _written(self, name: str) -> dict[str, Any]:
        low, high = integer(self.low, f"{name}: low"), integer(self.high, f"{name}: high")
        written: dict[str, Any] = {"type": "integer", "name": name, "low": low, "high": high}
        if truth(self.log, f"{name}: log"):
            written["scale"] = "log"
        return written

    def _value(self, value: Any, name: str) -> Value:
        return integer(value, name)


@dataclass(frozen=True, init=False)
class Choice:
    """One of several choices.

    >>> Choice("S", "M", "L", ordered=True)
    Choice('S', 'M', 'L', ordered=True)
    """

    choices: tuple[str, ...]
    #: Neighbours are alike, as sizes are.
    ordered: bool

    def __init__(self, *choices: str, ordered: bool = False) -> None:
        if len(choices) == 1 and not isinstance(choices[0], str):
            raise TypeError('Choice takes its choices one by one: Choice("steel", "oak")')
        for choice in choices:
            if not isinstance(choice, str):
                raise TypeError(f"a choice must be a text, not {kind(choice)}")
        object.__setattr__(self, "choices", tuple(choices))
        object.__setattr__(self, "ordered", truth(ordered, "ordered"))

    def __repr__(self) -> str:
        ordered = ", ordered=True" if self.ordered else ""
        return f"Choice({', '.join(map(repr, self.choices))}{ordered})"

    def _written(self, name: str) -> dict[str, Any]:
        written: dict[str, Any] = {
            "type": "categorical",
            "name": name,
            "choices": list(self.choices),
        }
        if self.ordered:
            written["ordered"] = True
        return written

    def _value(self, value: Any, name: str) -> Value:
        if not isinstance(value, str):
            raise DataError(f"{name} is {short(value)}, but must be one of {', '.join(self.choices)}")
        return str(value)


Parameter = Union[Real, Int, Choice]


@dataclass(frozen=True, kw_only=True)
class _Output:
    #: What measuring it alone costs; without it, a measurement gives it.
    cost: Cost | None = None
    #: How much two measurements at one design differ.
    noise: Noise = None
    #: Its logarithm is modelled; for positive outputs.
    log: bool = False
    #: It is this formula of the parameters and never measured.
    formula: str | None = None
    #: What is believed of its model before there are data, as in a study file.
    priors: Mapping[str, Any] | None = None
    #: Its model, where that is known, as in a study file.
    hyper: Mapping[str, Any] | None = None

    def _wish(self) -> dict[str, Any]:
        raise NotImplementedError

    def _written(self, name: str) -> dict[str, Any]:
        written: dict[str, Any] = {"name": name, **self._wish()}
        if self.formula is not None:
            for field in ("cost", "noise", "priors", "hyper"):
                if getattr(self, field) is not None:
                    raise ProblemError(f"{name}: {field} cannot be combined with a formula")
            return {**written, "formula": text(self.formula, f"{name}: formula")}
        if truth(self.log, f"{name}: log"):
            written["scale"] = "log"
        if self.noise == "unknown":
            written["noise"] = "noisy"
        elif isinstance(self.noise, str) and self.noise != "none":
            raise ProblemError(
                f'{name}: noise is {self.noise!r}, but must be a number, "none" or "unknown"'
            )
        elif self.noise is not None and self.noise != "none":
            written["noise"] = {"known": {"sd": number(self.noise, f"{name}: noise")}}
        for field in ("priors", "hyper"):
            said = getattr(self, field)
            if said is not None:
                written[field] = mapping(said, f"{name}: {field}")
        return written


@dataclass(frozen=True)
class Minimise(_Output):
    """An objective of which less is better.

    >>> Minimise(cost=10, noise=0.05).cost
    10
    """

    #: Less than this is worth nothing more.
    enough: float | None = None

    def _wish(self) -> dict[str, Any]:
        return {"direction": "minimise"}


@dataclass(frozen=True)
class Maximise(_Output):
    """An objective of which more is better."""

    #: More than this is worth nothing more.
    enough: float | None = None

    def _wish(self) -> dict[str, Any]:
        return {"direction": "maximise"}


@dataclass(frozen=True)
class AtMost(_Output):
    """A constraint: at most this much is acceptable."""

    limit: float

    def _wish(self) -> dict[str, Any]:
        return {"at_most": number(self.limit, "the limit of AtMost")}


@dataclass(frozen=True)
class AtLeast(_Output):
    """A constraint: at least this much is acceptable."""

    limit: float

    def _wish(self) -> dict[str, Any]:
        return {"at_least": number(self.limit, "the limit of AtLeast")}


Objective = Union[Minimise, Maximise]
Constraint = Union[AtMost, AtLeast]


@dataclass(frozen=True)
class Measurement:
    """What one run gives, and what it costs.

    >>> Measurement(["deflection", "stress"], cost=10)
    Measurement(outputs=['deflection', 'stress'], cost=10)
    """

    outputs: Sequence[str]
    cost: Cost

    def __post_init__(self) -> None:
        if isinstance(self.outputs, str):
            object.__setattr__(self, "outputs", [self.outputs])
        outputs = [text(name, "the name of an output") for name in self.outputs]
        object.__setattr__(self, "outputs", outputs)

    def _written(self, name: str) -> dict[str, Any]:
        return {"name": name, "outputs": list(self.outputs), "cost": price(self.cost, name)}


class Problem:
    """Parameters that can be chosen, outputs that matter, and measurements that give them.

    >>> problem = Problem(
    ...     parameters={"root": Real(0.10, 0.18), "layers": Int(1, 8)},
    ...     objectives={"mass": Minimise(cost=1), "deflection": Minimise()},
    ...     constraints={"stress": AtMost(200)},
    ...     measurements={"fem": Measurement(["deflection", "stress"], cost=10)})
    >>> list(problem.measurements)
    ['mass', 'fem']

    Everything that is wrong is told at once:

    >>> Problem(parameters={"root": Real(2, 1)}, objectives={"mass": Minimise(cost=-1)})
    Traceback (most recent call last):
    ...
    unyoke.errors.ProblemError: parameters['root'].low: is 2, above high, which is 1
    measurements['mass'].cost: ...
    """

    def __init__(
        self,
        parameters: Mapping[str, Parameter],
        objectives: Mapping[str, Objective],
        constraints: Mapping[str, Constraint] | None = None,
        measurements: Mapping[str, Measurement] | None = None,
        limits: Mapping[str, str] | None = None,
    ) -> None:
        self._parameters = entries(parameters, "parameters", (Real, Int, Choice))
        self._objectives = entries(objectives, "objectives", (Minimise, Maximise))
        self._constraints = entries(constraints or {}, "constraints", (AtMost, AtLeast))
        said = entries(measurements or {}, "measurements", (Measurement,))
        self._limits = entries(limits or {}, "limits", (str,))
        self._measurements = {**self._alone(said), **said}
        self._checked()

    @property
    def parameters(self) -> dict[str, Parameter]:
        """What can be chosen."""
        return dict(self._parameters)

    @property
    def objectives(self) -> dict[str, Objective]:
        """What is minimised or maximised."""
        return dict(self._objectives)

    @property
    def constraints(self) -> dict[str, Constraint]:
        """What must not be exceeded, or be reached."""
        return dict(self._constraints)

    @property
    def outputs(self) -> list[str]:
        """Names of the objectives and the constraints, in this order."""
        return [*self._objectives, *self._constraints]

    @property
    def measurements(self) -> dict[str, Measurement]:
        """What one run gives; an output with a cost of its own is measured alone."""
        return dict(self._measurements)

    @property
    def limits(self) -> dict[str, str]:
        """Inequalities between parameters."""
        return dict(self._limits)

    def design(self, values: Mapping[str, Any]) -> dict[str, Value]:
        """A design with the types of its parameters, in their order; unknown names are refused.

        >>> problem = Problem({"x": Real(0, 1), "n": Int(1, 9)}, {"f": Minimise(cost=1)})
        >>> problem.design({"n": 2.0, "x": 1})
        {'x': 1.0, 'n': 2}
        """
        design = self._partial_design(values)
        for name in self._parameters:
            if name not in design:
                raise DataError(f'the design has no value for parameter "{name}"')
        return design

    def _partial_design(self, values: Mapping[str, Any]) -> dict[str, Value]:
        values = mapping(values, "a design")
        for name in values:
            if name not in self._parameters:
                raise DataError(f'no parameter is called "{name}"{hint(name, self._parameters)}')
        known = self._parameters.items()
        return {name: one._value(values[name], name) for name, one in known if name in values}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self._written() == other._written()

    def __hash__(self) -> int:
        return hash(json.dumps(self._written(), sort_keys=True))

    def __repr__(self) -> str:
        fields = ("parameters", "objectives", "constraints", "measurements", "limits")
        said = [f"{field}={value!r}" for field in fields if (value := getattr(self, field))]
        return f"Problem({', '.join(said)})"

    def _alone(self, said: Mapping[str, Measurement]) -> dict[str, Measurement]:
        """Measurements of single outputs, as a study file has them."""
        listed = {name for measurement in said.values() for name in measurement.outputs}
        alone = {}
        for name, output in {**self._objectives, **self._constraints}.items():
            if output.cost is not None:
                if name in said:
                    raise ProblemError(
                        f"{name} has a cost of its own, so a measurement cannot have its name"
                    )
                alone[name] = Measurement([name], output.cost)
            elif output.formula is None and name not in listed:
                raise ProblemError(
                    f"{name} needs a cost, a formula, or a measurement that lists it among its outputs"
                )
        return alone

    def _enough(self) -> dict[str, float]:
        said = {name: one.enough for name, one in self._objectives.items()}
        return {
            name: number(enough, f"{name}: enough")
            for name, enough in said.items()
            if enough is not None
        }

    def _written(self) -> dict[str, Any]:
        """The problem as journals have it."""
        outputs = {**self._objectives, **self._constraints}
        return {
            "parameters": [one._written(name) for name, one in self._parameters.items()],
            "outputs": [one._written(name) for name, one in outputs.items()],
            "measurements": [one._written(name) for name, one in self._measurements.items()],
            "limits": [{"name": name, "formula": it} for name, it in self._limits.items()],
        }

    def _checked(self) -> None:
        try:
            _engine.check_problem(to_json(self._written()))
        except ProblemError as error:
            raise self._named(error) from None

    def _named(self, error: ProblemError) -> ProblemError:
        """The same with names in place of numbers, as in parameters['root'].low."""
        names = {
            "parameters": list(self._parameters),
            "outputs": self.outputs,
            "measurements": list(self._measurements),
            "limits": list(self._limits),
        }

        def named(match: re.Match[str]) -> str:
            section, index = match[1], int(match[2])
            if index >= len(names[section]):
                return match[0]
            name = names[section][index]
            if section == "outputs":
                section = "objectives" if name in self._objectives else "constraints"
            return f"{section}[{name!r}]"

        def place(path: str) -> str:
            return re.sub(r"\b(parameters|outputs|measurements|limits)\[(\d+)\]", named, path)

        if not error.mistakes:
            return error
        mistakes = [(place(path), message) for path, message in error.mistakes]
        lines = (f"{path}: {message}" if path else message for path, message in mistakes)
        return type(error)("\n".join(lines), mistakes)

    @classmethod
    def _read(cls, written: Mapping[str, Any], enough: Mapping[str, float]) -> Problem:
        """A problem as journals have it, which was checked before."""
        problem = cls.__new__(cls)
        problem._parameters = {one["name"]: read_parameter(one) for one in written["parameters"]}
        costs = {one["name"]: one["cost"] for one in written["measurements"]}
        alone = {
            one["name"] for one in written["measurements"] if one["outputs"] == [one["name"]]
        }
        problem._objectives, problem._constraints = {}, {}
        for one in written["outputs"]:
            name = one["name"]
            output = read_output(one, costs[name] if name in alone else None, enough.get(name))
            if isinstance(output, (Minimise, Maximise)):
                problem._objectives[name] = output
            else:
                problem._constraints[name] = output
        problem._measurements = {
            one["name"]: Measurement(one["outputs"], one["cost"]) for one in written["measurements"]
        }
        problem._limits = {one["name"]: one["formula"] for one in written.get("limits", [])}
        return problem


def read_parameter(one: Mapping[str, Any]) -> Parameter:
    log = one.get("scale") == "log"
    if one["type"] == "continuous":
        return Real(one["low"], one["high"], log=log, step=one.get("step"))
    if one["type"] == "integer":
        return Int(one["low"], one["high"], log=log)
    return Choice(*one["choices"], ordered=one.get("ordered", False))


def read_output(
    one: Mapping[str, Any], cost: Cost | None, enough: float | None
) -> Objective | Constraint:
    noise = one.get("noise")
    fields: dict[str, Any] = {
        "cost": cost,
        "noise": "unknown" if noise == "noisy" else noise["known"]["sd"] if noise else None,
        "log": one.get("scale") == "log",
        "formula": one.get("formula"),
        "priors": one.get("priors"),
        "hyper": one.get("hyper"),
    }
    if "at_most" in one:
        return AtMost(limit=one["at_most"], **fields)
    if "at_least" in one:
        return AtLeast(limit=one["at_least"], **fields)
    make = Minimise if one["direction"] == "minimise" else Maximise
    return make(enough=enough, **fields)


# What users pass, in the types that JSON has; a wrong type is a TypeError that names the place.


def to_json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def kind(value: Any) -> str:
    """As in "a str", "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def number(value: Any, what: str) -> float:
    """A finite number, of numpy or of Python; databases give decimals."""
    # Arrays of no dimension are numbers, too.
    value = value.item() if getattr(value, "shape", None) == () else value
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise TypeError(f"{what} must be a number, not {kind(value)}")
    result = float(value)
    if result != result or result in (float("inf"), float("-inf")):
        raise DataError(f"{what} is {result}, but must be a finite number")
    return result


def integer(value: Any, what: str) -> int:
    result = number(value, what)
    if result != int(result):
        raise DataError(f"{what} is {result:g}, but must be an integer")
    return int(value)


def text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a text, not {kind(value)}")
    return str(value)


def truth(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{what} must be True or False, not {kind(value)}")
    return value


def mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} must be a dict, not {kind(value)}")
    for name in value:
        text(name, f"a name in {what}")
    return dict(value)


def entries(value: Any, what: str, types: tuple[type, ...]) -> dict[str, Any]:
    """Named things of some types."""
    found = mapping(value, what)
    for name, one in found.items():
        if not isinstance(one, types):
            known = " or ".join(t.__name__ for t in types)
            made = ", not an instance: add ()" if isinstance(one, type) else f", not {kind(one)}"
            raise TypeError(f"{what}[{name!r}] must be {known}{made}")
    return found


def price(cost: Any, name: str) -> Any:
    """A cost as journals have it."""
    if isinstance(cost, str):
        return cost
    if isinstance(cost, Mapping):
        return mapping(cost, f"{name}: cost")
    return number(cost, f"{name}: cost")


def hint(name: str, known: Iterable[str]) -> str:
    """The name that somebody probably meant."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""
