"""What came out of an evaluation: what users tell and what their functions return, as one shape."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from .errors import DataError
from .problem import Problem, hint, kind, number, short, text

__all__ = ["Result"]

#: A number, a number with its standard error, or either for each output by name.
Values = Union[float, tuple[float, float], Mapping[str, Any]]


@dataclass(frozen=True)
class Result:
    """What a function may return that has more to say than a value.

    >>> Result({"lift": 1.2, "drag": (0.3, 0.05)}, cost=3.2)
    Result(values={'lift': 1.2, 'drag': (0.3, 0.05)}, cost=3.2, design=None, missing=None)
    """

    #: What `Study.tell` takes as values.
    values: Values
    #: What it really cost.
    cost: float | None = None
    #: Parameters that were not as asked for.
    design: Mapping[str, Any] | None = None
    #: Why some outputs have no value.
    missing: str | None = None


def written(
    values: Any,
    outputs: Sequence[str],
    problem: Problem | None,
    *,
    cost: float | None = None,
    design: Mapping[str, Any] | None = None,
    missing: str | None = None,
) -> dict[str, Any]:
    """An outcome as the engine reads it. All outputs must be there, or a reason why not."""
    if isinstance(values, Result):
        cost = values.cost if cost is None else cost
        design = values.design if design is None else design
        missing = values.missing if missing is None else missing
        values = values.values
    outcome: dict[str, Any] = {}
    if isinstance(values, Mapping):
        outcome["values"], absent = by_name(values, outputs)
        if missing is None and absent:
            missing = "; ".join(absent)
    elif len(outputs) == 1:
        outcome["values"] = {outputs[0]: reading(values, outputs[0])}
    else:
        names = ", ".join(f"{name!r}: ..." for name in outputs)
        raise TypeError(f"several outputs are measured: give {{{names}}}, not {kind(values)}")
    left_out = [name for name in outputs if name not in outcome["values"]]
    if left_out and missing is None:
        raise DataError(
            f"there is no value of {', '.join(left_out)}; add it, or None and say with missing=... why"
        )
    if missing is not None:
        outcome["missing"] = text(missing, "missing")
    if cost is not None:
        outcome["cost"] = number(cost, "cost")
    if design is not None and problem is not None:
        outcome["design"] = problem._partial_design(design)
    return outcome


def by_name(
    values: Mapping[str, Any], outputs: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Readings by output, and what is said of outputs without one."""
    found: dict[str, Any] = {}
    absent: list[str] = []
    for name, value in values.items():
        if name not in outputs:
            raise DataError(
                f"{short(name)} is not measured here, only {', '.join(outputs)}"
                f"{hint(str(name), outputs)}"
            )
        if value is None:
            absent.append(f"{name}: no value")
        else:
            found[name] = reading(value, name)
    return found, absent


def reading(value: Any, name: str) -> Any:
    """A number, or a value with its standard error."""
    if isinstance(value, tuple):
        if len(value) != 2:
            raise TypeError(f"{name} must be a number or (value, standard error), not {short(value)}")
        error = number(value[1], f"the standard error of {name}")
        if error < 0:
            raise DataError(f"the standard error of {name} is {error:g}, but must not be negative")
        return {"value": number(value[0], name), "sd": error}
    return number(value, name)


def without_nonsense(values: Any, outputs: Sequence[str]) -> Any:
    """The same with `None` for what is not finite: as the result of a run, that is no value."""
    if isinstance(values, Result):
        clean = without_nonsense(values.values, outputs)
        return Result(clean, values.cost, values.design, values.missing)
    if isinstance(values, Mapping):
        return {name: None if is_nonsense(value) else value for name, value in values.items()}
    if len(outputs) == 1 and is_nonsense(values):
        return {outputs[0]: None}
    return values


def is_nonsense(value: Any) -> bool:
    """Whether it is a number, or one with its standard error, that is NaN or infinite."""
    if isinstance(value, tuple) and value:
        value = value[0]
    if isinstance(value, str):
        return False
    try:
        return not math.isfinite(value)
    except (TypeError, ValueError):
        return False
