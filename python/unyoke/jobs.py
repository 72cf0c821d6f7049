"""Evaluations as processes of their own and as jobs of schedulers, by the loop of the program.

`Local`, `Slurm`, `Command` and `Hand` say where a measurement is made, in the words of study files. A
function is put into a file beside the study, and called by `_job.py` under the program's supervisor.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from . import _engine, _job, frames
from .errors import DataError, RunError
from .problem import integer, kind, mapping, number, text, to_json
from .program import program
from .progress import Progress, progress_for
from .running import Limits, Measure, Summary

if TYPE_CHECKING:
    from .study import Study

__all__ = ["Command", "Hand", "Local", "Slurm"]

#: Seconds, a `timedelta`, or a text as in study files: "90s", "4h", "1h 30m".
Time = Union[float, str, timedelta]


class JobExecutor:
    """Where a measurement is made, if not by a function of this program."""

    def _fields(self) -> dict[str, Any]:
        """As the table of a measurement in a study file has it."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        _engine.check_executor(f"{type(self).__name__}(...)", to_json(self._fields()))


@dataclass(frozen=True, kw_only=True)
class Local(JobExecutor):
    """Processes of their own on this machine, which outlive this program.

    >>> Local(slots=4, timeout="10m")
    Local(slots=4, timeout='10m', env={})
    """

    #: How many at once.
    slots: int | None = None
    #: After which one is stopped.
    timeout: Time | None = None
    #: Variables of its environment, beside the inherited ones.
    env: Mapping[str, str] = field(default_factory=dict)

    def _fields(self) -> dict[str, Any]:
        return {"executor": "local", **common(self)}


@dataclass(frozen=True, kw_only=True)
class Slurm(JobExecutor):
    """Jobs of Slurm. What is not said is as the cluster says.

    >>> Slurm(partition="cpu", time="4h", cpus=8, memory="16G", extra=["--account=x"], slots=20).cpus
    8
    """

    partition: str | None = None
    #: The time limit of a job, which Slurm rounds up to minutes.
    time: Time | None = None
    cpus: int | None = None
    #: As Slurm writes it, "16G".
    memory: str | None = None
    #: Further arguments of `sbatch`.
    extra: Sequence[str] = ()
    #: How many at once.
    slots: int | None = None
    #: After which a function is stopped, if before the time limit of its job.
    timeout: Time | None = None
    #: Between two questions to Slurm; 30 s by default.
    poll: Time | None = None
    #: How long a job must be gone before it counts as dead; two minutes by default.
    grace: Time | None = None
    #: How long a command of Slurm may take; a minute by default.
    call_timeout: Time | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    def _fields(self) -> dict[str, Any]:
        resources = {
            "partition": None if self.partition is None else text(self.partition, "partition"),
            "time": time_of(self.time, "time"),
            "cpus": None if self.cpus is None else integer(self.cpus, "cpus"),
            "memory": None if self.memory is None else text(self.memory, "memory"),
            "extra": words(self.extra, "extra") or None,
        }
        return {"executor": "slurm", "slurm": said(resources), **watched(self), **common(self)}


@dataclass(frozen=True, kw_only=True)
class Command(JobExecutor):
    """Jobs of any scheduler, by three commands, as `docs/clusters.md` has them.

    >>> Command(submit=["./submit.sh", "{name}", "{script}"], status=["./status.sh"],
    ...         cancel=["./cancel.sh", "{name}"], slots=10).slots
    10
    """

    #: Submits `{script}` as a job called `{name}`.
    submit: Sequence[str]
    #: Reads names on standard input, and prints a line with name and state for each.
    status: Sequence[str]
    #: Cancels the job called `{name}`.
    cancel: Sequence[str]
    slots: int | None = None
    timeout: Time | None = None
    poll: Time | None = None
    grace: Time | None = None
    call_timeout: Time | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    def _fields(self) -> dict[str, Any]:
        commands = {name: located(words(getattr(self, name), name)) for name in ("submit", "status", "cancel")}
        return {"executor": "command", **commands, **watched(self), **common(self)}


@dataclass(frozen=True, kw_only=True)
class Hand(JobExecutor):
    """Somebody measures: the run says what, and goes on when `study.tell` has recorded it."""

    #: How many are asked for at once; one by default.
    slots: int | None = None

    def _fields(self) -> dict[str, Any]:
        return {"executor": "hand", **said({"slots": count(self.slots)})}


def said(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def common(executor: Local | Slurm | Command) -> dict[str, Any]:
    env = {text(name, "env"): text(value, f"env {name}") for name, value in mapping(executor.env, "env").items()}
    slots, timeout = count(executor.slots), time_of(executor.timeout, "timeout")
    return said({"slots": slots, "timeout": timeout, "env": env or None})


def watched(executor: Slurm | Command) -> dict[str, Any]:
    return said({name: time_of(getattr(executor, name), name) for name in ("poll", "grace", "call_timeout")})


def count(slots: Any) -> int | None:
    return None if slots is None else integer(slots, "slots")


def words(arguments: Any, what: str) -> list[str]:
    if isinstance(arguments, str) or not isinstance(arguments, Sequence):
        raise TypeError(f"{what} must be a list of texts, not {kind(arguments)}")
    return [text(one, what) for one in arguments]


def located(command: list[str]) -> list[str]:
    """The same with the program where it is seen from here."""
    if command and "/" in command[0]:
        command[0] = os.path.abspath(command[0])
    return command


def time_of(time: Any, what: str) -> str | None:
    """A length of time as study files write it."""
    if time is None or isinstance(time, str):
        return time
    seconds = time.total_seconds() if isinstance(time, timedelta) else number(time, what)
    if not 0 < seconds < 1e9:
        raise DataError(f"{what} is {seconds:g} s, but must be longer than nothing")
    return f"{max(1, round(seconds * 1000))}ms"


def chosen(study: Study, executor: Any) -> dict[str, JobExecutor | None] | None:
    """Where each measurement is made, by name; None for those that the study file has commands for.

    None in all if no measurement is made as a job: then functions are called by this program.
    """
    measures = study._measures
    own = {name: one.executor for name, one in measures.items() if one.executor is not None}
    named = executors_by_name(study, executor) if isinstance(executor, Mapping) else {}
    everywhere = executor if isinstance(executor, JobExecutor) else None
    if not own and not named and everywhere is None:
        return None
    if executor is not None and not named and everywhere is None:
        raise RunError(
            f"{', '.join(own)} runs as a job, so that others cannot be called in an executor of this "
            "program at the same time; give them uk.Local(), or run them on their own"
        )
    elsewhere = set(study._description["commands"]) | set(study._description["by_hand"])
    found: dict[str, JobExecutor | None] = {}
    for name in study.problem.measurements:
        place = named.get(name) or own.get(name) or everywhere
        if name not in measures and name in elsewhere and (place is None or name not in named):
            found[name] = None
        else:
            found[name] = place or Local()
    return found


def executors_by_name(study: Study, executors: Mapping[str, Any]) -> dict[str, JobExecutor]:
    found = mapping(executors, "executor")
    study._require_measurements(found)
    for name, executor in found.items():
        if not isinstance(executor, JobExecutor):
            raise TypeError(
                f"the executor of {name} must be Local, Slurm, Command or Hand, not {kind(executor)}"
            )
    return found


def require_functions(study: Study, places: Mapping[str, JobExecutor | None]) -> None:
    for name, place in places.items():
        measure = study._measures.get(name)
        if place is None or isinstance(place, Hand):
            continue
        if measure is None:
            raise RunError(f'no function measures {name}: run({{"{name}": function}}, ...)')
        if measure.is_async:
            raise RunError(f"the function for {name} is asynchronous, which jobs cannot be")


def run(
    study: Study,
    places: Mapping[str, JobExecutor | None],
    limits: Limits,
    *,
    until: float | None,
    folder: str | os.PathLike[str] | None,
    progress: bool | None,
) -> Summary:
    """Makes evaluations as processes and jobs until the run ends."""
    require_functions(study, places)
    runs = study._description["runs"] if folder is None else os.path.abspath(os.fspath(folder))
    orders = {
        "run": limits.settings,
        "measurements": {
            name: fields_of(name, place, study._measures.get(name), runs)
            for name, place in places.items()
            if place is not None
        },
        "folder": os.getcwd(),
        "runs": runs,
        "most": limits.most,
        "until": until,
        "program": program(),
    }
    view = View(progress_for(progress, limits.settings["budget"]))
    try:
        ended = json.loads(study._handle.run_jobs(to_json(orders), view.show))
    except KeyboardInterrupt:
        if view.running:
            view.shown.note(f"interrupted: {len(view.running)} go on, and the next run collects them")
        raise
    finally:
        view.shown.close()
    if ended["ending"] == "cannot_start":
        raise RunError(ended["reason"])
    return Summary(
        ended["ending"], ended["reason"], ended["completed"], ended["failed"], view.resumed, ended["spent"]
    )


def fields_of(
    name: str, place: JobExecutor, measure: Measure | None, runs: str | None
) -> dict[str, Any]:
    """How a measurement is made, as its table in a study file would have it."""
    fields = place._fields()
    if measure is None or isinstance(place, Hand):
        return fields
    if measure.slots is not None:
        fields["slots"] = measure.slots
    fields["retries"] = measure.retries
    fields["directory"] = os.getcwd()
    # Without a folder the engine says what is missing.
    path = "" if runs is None else keep(name, measure.function, Path(runs))
    command = [sys.executable, "-P", os.path.abspath(_job.__file__), path]
    fields["command"] = [word.replace("{", "{{").replace("}", "}}") for word in command]
    return fields


def keep(name: str, function: Callable[..., Any], runs: Path) -> str:
    """Puts a function into a file of its own, which never changes: jobs may begin much later."""
    if not sys.executable:
        raise RunError("this program does not know its interpreter, so that no job can be started")
    pickler = frames.needed("cloudpickle", "jobs")
    try:
        written = pickler.dumps(function)
    except Exception as error:
        raise RunError(f"the function for {name} cannot be sent to a job: {error}") from error
    here = [os.path.abspath(place) for place in sys.path]
    content = pickle.dumps({"path": here, "function": written})
    folder = runs / "functions"
    folder.mkdir(parents=True, exist_ok=True)
    readable = re.sub(r"[^A-Za-z0-9]+", "-", name)[:40]
    path = folder / f"{readable}-{hashlib.sha256(content).hexdigest()[:16]}.pickle"
    if not path.exists():
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Whoever may read the study may run its jobs.
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    return str(path)


class View:
    """What is seen of a run."""

    def __init__(self, shown: Progress) -> None:
        self.shown = shown
        #: By evaluation: its measurement, and what a scheduler says of it.
        self.running: dict[int, str] = {}
        self.completed = self.failed = self.resumed = 0
        self.spent = 0.0

    def show(self, event: str) -> None:
        [(what, told)] = json.loads(event).items()
        evaluation = told.get("evaluation")
        if what == "began":
            self.resumed += told["resumed"]
            self.running[evaluation] = told["measurement"]
        elif what == "said":
            measurement = self.running.get(evaluation, "").split(" ")[0]
            self.running[evaluation] = f"{measurement} {told['said']}"
        elif what == "spent":
            self.spent = told["spent"]
        elif evaluation is not None:
            self.running.pop(evaluation, None)
            self.completed += what == "finished"
            self.failed += what == "failed"
        if "note" in told:
            self.shown.note(told["note"])
        self.shown.update(self.spent, self.words())

    def words(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        kinds = list(self.running.values())
        now = ", ".join(f"{kinds.count(one)} {one}" for one in sorted(set(kinds)))
        return f"{self.completed} done{failed}{': ' + now if now else ''}"

