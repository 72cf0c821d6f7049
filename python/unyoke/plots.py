"""Pictures with matplotlib, of which a study needs none by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import frames
from .errors import DataError
from .problem import hint

if TYPE_CHECKING:
    from .study import Study
    from .views import Front

BLUE, VERMILLION = "#0072b2", "#d55e00"


def axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    pyplot = frames.needed("matplotlib.pyplot", "plot")
    return pyplot.subplots()[1]


def front(front: Front, ax: Any = None, objectives: Sequence[str] | None = None) -> Any:
    """Two objectives of a front, with one standard deviation, and what was measured."""
    known = list(front._problem.objectives)
    chosen = list(objectives) if objectives is not None else known[:2]
    for name in chosen:
        if name not in known:
            raise DataError(f'no objective is called "{name}"{hint(name, known)}')
    if len(chosen) != 2:
        raise DataError(f"a plot shows two objectives, not {len(chosen)}")
    ax = axes(ax)
    i, j = (known.index(name) for name in chosen)
    if front.measured:
        x, y = [row[i] for row in front.measured], [row[j] for row in front.measured]
        ax.plot(x, y, "D", color=VERMILLION, markersize=5, label="measured on all objectives")
    points = [p for p in front if all(name in p.outputs for name in chosen)]
    x, y = ([p.outputs[name]["mean"] for p in points] for name in chosen)
    dx, dy = ([p.outputs[name]["sd"] for p in points] for name in chosen)
    ax.errorbar(
        x, y, xerr=dx, yerr=dy, fmt="o", color=BLUE, markersize=4, elinewidth=0.8, label="predicted"
    )
    ax.set_xlabel(f"{chosen[0]} ({direction(front, chosen[0])})")
    ax.set_ylabel(f"{chosen[1]} ({direction(front, chosen[1])})")
    ax.legend()
    return ax


def direction(front: Front, name: str) -> str:
    return str(front._problem.objectives[name]._wish()["direction"])


def spending(study: Study, ax: Any = None) -> Any:
    """What each measurement has cost, against the total cost."""
    ax = axes(ax)
    paid = [e for e in study._evaluations() if e["spent"] > 0 and e["measurement"]]
    total = sum(e["spent"] for e in paid)
    for name in study.problem.measurements:
        x, y, spent = [0.0], [0.0], 0.0
        for evaluation in paid:
            spent += evaluation["spent"]
            if evaluation["measurement"] == name:
                x.append(spent)
                y.append(y[-1] + evaluation["spent"])
        ax.step([*x, total], [*y, y[-1]], where="post", label=name)
    ax.set_xlabel("total cost")
    ax.set_ylabel("spent on it")
    ax.legend()
    return ax


def predictions(study: Study, output: str, ax: Any = None) -> Any:
    """Every value of an output against what is expected of it from all the others."""
    models = {model["output"]: model for model in study.models()}
    if output not in models:
        raise DataError(f'no modelled output is called "{output}"{hint(output, models)}')
    ax = axes(ax)
    values = models[output]["left_out"]
    x = [value["measured"] for value in values]
    y = [value["mean"] for value in values]
    below = [value["mean"] - value["low"] for value in values]
    above = [value["high"] - value["mean"] for value in values]
    ax.errorbar(x, y, yerr=[below, above], fmt="o", color=BLUE, markersize=4, elinewidth=0.8)
    if x:
        ends = [min(x + y), max(x + y)]
        ax.plot(ends, ends, color="#5f5f5f", linewidth=1)
    ax.set_xlabel(f"{output}, measured")
    ax.set_ylabel("predicted from the others")
    return ax
