"""Data of neighbouring systems, as rows for `Study.add`. None of them is imported here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import frames
from .errors import DataError
from .problem import Problem, kind

__all__ = ["from_ax", "from_baybe", "from_optuna"]


def from_optuna(study: Any, outputs: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Completed trials of an Optuna study.

    `outputs` names the values of a trial in their order; by default Optuna's metric names. A constraint
    or another quantity that was kept as a user attribute comes along under its own name.
    """
    if not hasattr(study, "get_trials"):
        raise TypeError(f"an Optuna study is expected, not {kind(study)}")
    names = list(outputs or getattr(study, "metric_names", None) or [])
    rows = []
    for trial in study.get_trials(deepcopy=False):
        if trial.state.name != "COMPLETE":
            continue
        if len(names) != len(trial.values):
            raise DataError(
                f"a trial has {len(trial.values)} values; name them: from_optuna(study, [...])"
            )
        rows.append({**trial.user_attrs, **trial.params, **dict(zip(names, trial.values))})
    return rows


def from_ax(summary: Any, problem: Problem) -> list[dict[str, Any]]:
    """The frame of Ax, as `client.summarize()` gives it: a row for each arm, blank where nothing was
    measured. Trials that failed or were abandoned are left out, other columns passed over."""
    rows = frames.rows_of(summary)
    wanted = [r for r in rows if str(r.get("trial_status", "COMPLETED")) not in UNUSABLE]
    return [known(row, problem) for row in wanted]


#: What Ax calls trials whose values do not count.
UNUSABLE = ("FAILED", "ABANDONED", "STALE")


def from_baybe(measurements: Any, problem: Problem) -> list[dict[str, Any]]:
    """The frame of BayBE, as `campaign.measurements` has it: NaN where a target was not measured."""
    return [known(row, problem) for row in frames.rows_of(measurements)]


def known(row: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    """The parameters and outputs of a row, with standard errors; Ax calls these NAME_sem."""
    names = [*problem.parameters, *problem.outputs]
    found = {name: row[name] for name in names if name in row}
    for output in problem.outputs:
        for column in (output + frames.ERROR, output + "_sem"):
            if column in row and not frames.is_blank(row[column]):
                found[output + frames.ERROR] = row[column]
    return found
