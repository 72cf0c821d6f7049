"""What is shown of a study: suggestions, fronts and explanations, with their tables and pictures.

Each has `as_dict()`, the JSON of `docs/views.md`, and shows itself in notebooks.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _engine, frames
from .problem import Problem, Value

if TYPE_CHECKING:
    from .study import Study

__all__ = ["Explanation", "Front", "Point", "Suggestion"]


class Suggestion:
    """What to evaluate next, and why.

    `evaluation` is its number, `measurement` what to measure, `outputs` what that gives, `design`
    where, `cost` what it is expected to cost, `why` the reasons in words.
    """

    def __init__(self, view: Mapping[str, Any], problem: Problem) -> None:
        self._view = dict(view)
        self.evaluation: int = view["evaluation"]
        self.measurement: str = view["measurement"]
        self.outputs: list[str] = list(view["outputs"])
        self.design: dict[str, Value] = in_order(view["design"], problem)
        self.cost: float = view["cost"]
        #: Expected gain per unit of cost; None where no model was asked.
        self.gain_per_cost: float | None = view.get("gain_per_cost")
        #: The best that was found for each measurement, or for all together.
        self.options: list[dict[str, Any]] = list(view.get("options", []))
        self.notes: list[str] = list(view.get("notes", []))

    @property
    def why(self) -> str:
        """The reasons in words: the table it won, and notes."""
        lines = []
        chosen = self._view.get("chosen")
        for place, option in enumerate(self.options):
            mark = "▶" if place == chosen else " "
            even = option["break_even_cost"]
            lines.append(
                f"{mark} {' + '.join(option['measurements'])} at {in_words(option['design'])}: "
                f"gain {self._gain(option['gain'])} for {option['cost']:.4g}, "
                f"{self._gain(option['gain_per_cost'])} per unit of cost"
                + (f", break-even cost {even:.4g}" if even is not None else "")
            )
        return "\n".join([*lines, *self.notes])

    @property
    def _range(self) -> float | None:
        """The range of the front, of which gains are shares; None where there is none."""
        prospect = self._view.get("prospect")
        return (prospect["range"] or None) if prospect else None

    def _gain(self, gain: float) -> str:
        words = gain_in_words(gain, self._range)
        return words if self._range is None else f"{words} of the front's range"

    def as_dict(self) -> dict[str, Any]:
        """The view of `docs/views.md`."""
        return dict(self._view)

    def __repr__(self) -> str:
        return (
            f"<Suggestion {self.evaluation}: {self.measurement} at {in_words(self.design)}, "
            f"cost {self.cost:.4g}>"
        )

    def _repr_html_(self) -> str:
        head = (
            f"<b>evaluation {self.evaluation}: {escape(self.measurement)}</b> at "
            f"{escape(in_words(self.design))}, cost {self.cost:.4g}"
        )
        options = options_table(self.options, self._view.get("chosen"), self._range)
        return f"<div>{head}{options}{note_list(self.notes)}</div>"


class Explanation(Suggestion):
    """What a study would evaluate next. Nothing is asked for by looking."""

    def __init__(self, view: Mapping[str, Any], problem: Problem) -> None:
        super().__init__(view, problem)
        #: Whether it may be evaluated: it fits into the budget, and is no repetition.
        self.possible: bool = view["possible"]
        #: How far the model of each output can be trusted.
        self.models: list[dict[str, Any]] = list(view["models"])

    def __repr__(self) -> str:
        return f"<Explanation: {self.measurement} at {in_words(self.design)}, cost {self.cost:.4g}>"


class Point:
    """A design of a front: what is expected there, and what was measured."""

    def __init__(self, view: Mapping[str, Any], problem: Problem) -> None:
        self._view = dict(view)
        self.design: dict[str, Value] = in_order(view["design"], problem)
        #: By output: mean, sd, low, high, the 90 % interval and measured values.
        self.outputs: dict[str, dict[str, Any]] = {
            name: view["outputs"][name] for name in problem.outputs if name in view["outputs"]
        }
        #: The probability that all constraints hold and no run fails; None where nothing can.
        self.feasibility: float | None = view.get("feasibility")
        #: Whether every output was measured at this very design.
        self.confirmed: bool = view["confirmed"]

    @property
    def mean(self) -> dict[str, float]:
        """Expected values by output."""
        return {name: forecast["mean"] for name, forecast in self.outputs.items()}

    @property
    def sd(self) -> dict[str, float]:
        """Their standard deviations."""
        return {name: forecast["sd"] for name, forecast in self.outputs.items()}

    def as_dict(self) -> dict[str, Any]:
        """The view of `docs/views.md`."""
        return dict(self._view)

    def __repr__(self) -> str:
        expected = ", ".join(
            f"{name} {forecast['mean']:.4g} ± {forecast['sd']:.2g}"
            for name, forecast in self.outputs.items()
        )
        return f"<Point {in_words(self.design)}: {expected}>"


class Front(Sequence[Point]):
    """The predicted trade-offs: designs that are best for somebody, sorted by the first objective.

    It shows itself as a figure with a table in notebooks.
    """

    def __init__(self, view: Mapping[str, Any], study: Study, measured: list[list[float]]) -> None:
        problem = study.problem
        first = next(iter(problem.objectives))
        points = [Point(point, problem) for point in view["points"]]
        self._view, self._study, self._problem = dict(view), study, problem
        #: The designs.
        self.points: list[Point] = sorted(points, key=lambda p: p.mean.get(first, float("inf")))
        #: Values of all objectives at designs where all were measured.
        self.measured = measured

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, place: Any) -> Any:
        return self.points[place]

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def best(self, weights: Mapping[str, float]) -> Point:
        """The design that is best for these weights of the objectives; see `Study.best`."""
        return self._study.best(weights)

    def frame(self, frame: frames.Kind = "pandas") -> Any:
        """A data frame: a column for each parameter, and for each output its mean and `NAME.sd`."""
        columns: dict[str, list[Any]] = {
            name: [point.design[name] for point in self] for name in self._problem.parameters
        }
        for name in self._problem.outputs:
            forecasts = [point.outputs.get(name, {}) for point in self]
            columns[name] = [forecast.get("mean") for forecast in forecasts]
            columns[name + frames.ERROR] = [forecast.get("sd") for forecast in forecasts]
        if any(point.feasibility is not None for point in self):
            columns["feasibility"] = [point.feasibility for point in self]
        columns["confirmed"] = [point.confirmed for point in self]
        return frames.frame(columns, frame)

    def plot(self, ax: Any = None, objectives: Sequence[str] | None = None) -> Any:
        """Draws two objectives with matplotlib; returns the axes."""
        from . import plots

        return plots.front(self, ax=ax, objectives=objectives)

    def svg(self) -> str | None:
        """The figure of the report as SVG; None with one objective."""
        return _engine.front_picture(json.dumps(self._view), self.measured)

    def as_dict(self) -> dict[str, Any]:
        """The view of `docs/views.md`."""
        return dict(self._view)

    def __repr__(self) -> str:
        return f"<Front of {len(self)} designs, {', '.join(self._problem.objectives)}>"

    def _repr_html_(self) -> str:
        return f"<div>{self.svg() or ''}{self._table()}</div>"

    def _table(self) -> str:
        names = [*self._problem.parameters, *self._problem.outputs, "confirmed"]
        rows = []
        for point in self:
            cells = [shown(point.design[name]) for name in self._problem.parameters]
            for name in self._problem.outputs:
                forecast = point.outputs.get(name)
                cells.append(f"{forecast['mean']:.4g} ± {forecast['sd']:.2g}" if forecast else "")
            rows.append([*cells, "yes" if point.confirmed else ""])
        return table(names, rows)


def in_order(design: Mapping[str, Value], problem: Problem) -> dict[str, Value]:
    """A design with its parameters in the order of the problem."""
    return {name: design[name] for name in problem._parameters if name in design}


def shown(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def in_words(design: Mapping[str, Value]) -> str:
    return " ".join(f"{name}={shown(value)}" for name, value in design.items())


def escape(text: str) -> str:
    return html.escape(text, quote=True)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"


def gain_in_words(gain: float, span: float | None) -> str:
    """A gain as a share of the range of the front, `span`, where there is one."""
    if span is None:
        return f"{gain:.4g}"
    percent = 100 * gain / span
    if percent == 0 or percent >= 0.01:
        # Two digits: more than the models are good for would only distract.
        return f"{percent:.0f} %" if percent >= 100 else f"{percent:.2g} %"
    return "< 0.01 %"


def options_table(options: Sequence[Mapping[str, Any]], chosen: int | None, span: float | None) -> str:
    if not options:
        return ""
    gains = ["expected gain", "gain per cost"]
    if span is not None:
        gains = ["gain, % of the front's range", "per unit of cost"]
    head = ["", "evaluate", "at", gains[0], "cost", gains[1], "break-even cost"]
    rows = []
    for place, option in enumerate(options):
        even = option["break_even_cost"]
        rows.append(
            [
                "▶" if place == chosen else "",
                " + ".join(option["measurements"]),
                in_words(option["design"]),
                gain_in_words(option["gain"], span),
                f"{option['cost']:.4g}",
                gain_in_words(option["gain_per_cost"], span),
                "" if even is None else f"{even:.4g}",
            ]
        )
    return table(head, rows)


def note_list(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    return "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"


def study_page(status: Mapping[str, Any], name: str) -> str:
    """How a study stands, as HTML."""
    budget = status["budget"]
    spent = f"spent {status['spent']:.4g}" + (f" of {budget:.4g}" if budget is not None else "")
    measurements = [
        [
            one["name"],
            ", ".join(one["outputs"]),
            f"{one['cost']:.4g}" if isinstance(one["cost"], (int, float)) else str(one["cost"]),
            *(str(one[field]) for field in ("completed", "failed", "pending")),
            f"{one['spent']:.4g}",
        ]
        for one in status["measurements"]
    ]
    outputs = [
        [one["name"], wish(one), str(one["values"]), "" if one["best"] is None else f"{one['best']:.4g}"]
        for one in status["outputs"]
    ]
    head = ["measurement", "gives", "cost", "completed", "failed", "pending", "spent"]
    return (
        f"<div><b>{escape(name)}</b>, {spent}{table(head, measurements)}"
        f"{table(['output', 'wanted', 'values', 'best'], outputs)}</div>"
    )


def wish(output: Mapping[str, Any]) -> str:
    if output["direction"]:
        return str(output["direction"])
    if output["at_most"] is not None:
        return f"at most {output['at_most']:.4g}"
    return f"at least {output['at_least']:.4g}"
