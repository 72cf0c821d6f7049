"""A study: ask what to evaluate, tell what came out, or have functions called; read the front."""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, Union

from . import _engine, frames, jobs, running, views
from .errors import DataError, ProblemError, RunError, StateError
from .outcome import Result, Values, written
from .problem import Cost, Problem, hint, integer, kind, mapping, number, price, short, text, to_json
from .running import Summary
from .views import Explanation, Front, Point, Suggestion

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Study"]

Function = TypeVar("Function", bound=Callable[..., Any])

#: All that is open, so that forked processes let go of it.
_open: weakref.WeakSet[_engine.Handle] = weakref.WeakSet()


def _forget() -> None:
    for handle in list(_open):
        handle.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class Study:
    """A multi-objective optimisation under way. `Study.open` makes one.

    Its methods may be called from several threads. It belongs to its process: a forked one opens its
    own.

    >>> from unyoke import Problem, Real, Minimise
    >>> problem = Problem({"x": Real(0, 1)}, {"mass": Minimise(cost=1), "drag": Minimise(cost=5)})
    >>> study = Study.open(None, problem)
    >>> suggestion = study.ask()
    >>> study.tell(suggestion, 0.25)
    >>> study.spent
    1.0
    """

    _handle: _engine.Handle
    _description: dict[str, Any]
    _measures: dict[str, running.Measure]

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("a study is opened: Study.open(place, problem)")

    @classmethod
    def _of(cls, handle: _engine.Handle) -> Study:
        study = object.__new__(cls)
        study._handle, study._measures = handle, {}
        _open.add(handle)
        study._description = json.loads(handle.description())
        return study

    @classmethod
    def open(
        cls,
        store: Union[str, os.PathLike[str], None] = None,
        problem: Problem | None = None,
        *,
        seed: int = 0,
        algorithm: str = "auto",
        budget: float | None = None,
        initial: Union[int, Mapping[str, Any], None] = None,
        preference: Mapping[str, Any] | None = None,
        engine: Mapping[str, Any] | None = None,
    ) -> Study:
        """Opens a study, or begins it.

        `store` is the path of a file, `file:PATH` of a journal file (for network file systems; one
        process writes, from its first `ask` or `tell` until it closes the study),
        `postgres://user@host/database?study=NAME`, a study file (`study.toml`), or None for a study
        that lasts as long as this object. Without a `problem` the
        study must exist. With one it is begun if there is none; otherwise it must have been begun with
        the same problem, and costs and wishes are from now on those said here.

        The settings are those of study files: `seed` and `algorithm` of `[study]`; `budget`, the most
        that may be spent; `initial`, the number of initial designs or `[initial]`; `preference`;
        `engine`. Seed, algorithm and initial designs count only when a study is begun.
        """
        if store is not None and not isinstance(store, (str, os.PathLike)):
            raise TypeError(f"store must be a path, a URL or None, not {kind(store)}")
        if problem is not None and not isinstance(problem, Problem):
            raise TypeError(f"problem must be a Problem, not {kind(problem)}")
        place = None if store is None else os.fspath(store)
        if isinstance(place, bytes):
            raise TypeError("store must be a text, not bytes")
        if place is not None and place.endswith(".toml"):
            if problem is not None:
                raise ProblemError(f"{place} describes its problem; open it without another")
            return cls._of(_engine.Handle.of_file(place))
        if problem is None:
            if place is None:
                raise ProblemError("a study in memory needs a problem")
            return cls._of(_engine.Handle.at(place))
        beginning = to_json(
            {
                "problem": problem._written(),
                "config": settings(problem, algorithm, initial, preference, engine),
                "seed": seed_of(seed),
                "budget": None if budget is None else positive(budget, "budget"),
            }
        )
        try:
            if place is None:
                return cls._of(_engine.Handle.in_memory(beginning))
            return cls._of(_engine.Handle.at(place, beginning))
        except ProblemError as error:
            raise problem._named(error) from None

    def close(self) -> None:
        """Closes the study; it can be opened again. Refused while it is being run."""
        self._handle.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a study cannot be pickled or copied: open it again where it is needed, "
            "as in Study.open(study.store)"
        )

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, _: Any) -> NoReturn:
        self.__reduce__()

    @property
    def problem(self) -> Problem:
        """What is optimised, with the present costs."""
        enough = self._description["config"].get("enough", {})
        return Problem._read(json.loads(self._handle.problem()), enough)

    @property
    def store(self) -> str:
        """Where it is kept, without passwords; "memory" if nowhere."""
        return str(self._description["store"])

    @property
    def seed(self) -> int:
        """From which all random numbers come."""
        return int(self._description["seed"])

    @property
    def algorithm(self) -> str:
        """Which acquisition function chooses."""
        return str(self._description["config"]["algorithm"])

    @property
    def budget(self) -> float | None:
        """The most that may be spent, unless a run says otherwise."""
        budget = self._description["budget"]
        return None if budget is None else float(budget)

    @property
    def spent(self) -> float:
        """What evaluations that were asked for have cost so far."""
        return self._handle.spent()[0]

    @property
    def committed(self) -> float:
        """What is spent when all that is under way has ended."""
        return self._handle.spent()[1]

    # Ask and tell.

    def ask(
        self,
        *,
        measurement: str | Sequence[str] | None = None,
        fix: Mapping[str, Any] | None = None,
    ) -> Suggestion:
        """What to evaluate next: worth most per unit of cost.

        It is pending from now on, and yours: no run makes it. Ask again before you tell, and what is
        pending counts as if it had given what is expected. `measurement` names what can be made now, one
        or several; `fix` has values of parameters that the design must have. Designs that are queued come
        first, and what is paused is left out. Raises `Exhausted` if nothing is left.

        >>> from unyoke import Problem, Real, Choice, Minimise
        >>> problem = Problem({"x": Real(0, 1), "wood": Choice("oak", "pine")}, {"mass": Minimise(cost=1)})
        >>> study = Study.open(None, problem)
        >>> study.ask(fix={"wood": "pine"}).design["wood"]
        'pine'
        """
        if measurement is None:
            only = []
        elif isinstance(measurement, str):
            only = [measurement]
        else:
            only = [text(name, "measurement") for name in measurement]
        fixed = {} if fix is None else mapping(fix, "fix")
        return Suggestion(json.loads(self._handle.ask(only, to_json(fixed))), self.problem)

    def ask_many(
        self,
        count: int,
        *,
        measurement: str | Sequence[str] | None = None,
        fix: Mapping[str, Any] | None = None,
    ) -> list[Suggestion]:
        """Asks `count` times."""
        count = integer(count, "count")
        return [self.ask(measurement=measurement, fix=fix) for _ in range(count)]

    def queue(self, design: Mapping[str, Any], measurement: str | None = None) -> int:
        """Has a design of your own measured before anything is searched for; returns its number in the queue.

        Without a measurement, whatever is not known there is measured.
        """
        name = None if measurement is None else text(measurement, "measurement")
        return self._handle.queue(to_json(mapping(design, "design")), name)

    def unqueue(self, entry: int) -> None:
        """Takes a design out of the queue."""
        self._handle.unqueue(integer(entry, "entry"))

    def skip(self, suggestion: Suggestion | int) -> None:
        """Takes an evaluation back, and does not suggest it again, nor one close to it, before five more
        results are there."""
        self._handle.skip(number_of(suggestion))

    def pause(
        self,
        measurement: str,
        *,
        until: datetime | None = None,
        reason: str | None = None,
    ) -> None:
        """Leaves out a measurement: `ask` and `run` do not make it, until then or until `resume`.

        A time without a time zone is local time.
        """
        if until is not None and not isinstance(until, datetime):
            raise TypeError(f"until must be a datetime, not {kind(until)}")
        seconds = None if until is None else int(until.timestamp())
        reason = None if reason is None else text(reason, "reason")
        self._handle.pause(text(measurement, "measurement"), seconds, reason)

    def resume(self, measurement: str) -> bool:
        """Makes a paused measurement again; False if it was not paused."""
        return self._handle.resume(text(measurement, "measurement"))

    def tell(
        self,
        suggestion: Suggestion | int,
        values: Values | Result,
        *,
        cost: float | None = None,
        design: Mapping[str, Any] | None = None,
        missing: str | None = None,
        replace: bool = False,
    ) -> None:
        """Records what came out of an evaluation.

        `values` is a number, a number with its standard error `(3.75, 0.1)`, or either for each output:
        `{"lift": 1.2, "drag": (0.3, 0.05)}`. If some have none, `missing` says why. `cost` is what it
        really cost, `design` the parameters that were not as asked for; `replace` puts values in the
        place of a failure.
        """
        evaluation = number_of(suggestion)
        if isinstance(suggestion, Suggestion):
            outputs = suggestion.outputs
        else:
            outputs = self._evaluation(evaluation)["outputs"]
        outcome = written(
            values, outputs, self.problem, cost=cost, design=design, missing=missing
        )
        self._handle.tell(evaluation, to_json(outcome), replace)

    def fail(self, suggestion: Suggestion | int, reason: str, *, cost: float | None = None) -> None:
        """Records that an evaluation was made and gave nothing. It counts as spent."""
        outcome: dict[str, Any] = {"missing": text(reason, "reason")}
        if cost is not None:
            outcome["cost"] = number(cost, "cost")
        self._handle.tell(number_of(suggestion), to_json(outcome), False)

    def correct(
        self,
        suggestion: Suggestion | int,
        values: Values | Result | None = None,
        *,
        cost: float | None = None,
        design: Mapping[str, Any] | None = None,
        missing: str | None = None,
    ) -> None:
        """Records that something else came out of an evaluation than was recorded.

        What is not named stays as it was: `study.correct(12, {"drag": 0.3})` leaves the lift of evaluation
        12 alone, `study.correct(12, cost=3.2)` all its values. With `missing` there are no values but
        those given here: `study.correct(12, missing="diverged")` makes it a failure. From then on the
        study is what it would be had this been told at once.
        """
        evaluation = number_of(suggestion)
        outputs = self._evaluation(evaluation)["outputs"]
        inner = values.values if isinstance(values, Result) else values
        if values is None:
            values = {}
            outputs = outputs if missing is not None else []
        elif isinstance(inner, Mapping) and missing is None:
            if None in inner.values() and set(inner) != set(outputs):
                raise DataError("where an output has no value, all others must be given as well")
            if set(inner) <= set(outputs):
                outputs = list(inner)
        outcome = written(
            values, outputs, self.problem, cost=cost, design=design, missing=missing
        )
        self._handle.correct(evaluation, to_json(outcome))

    def retract(self, suggestion: Suggestion | int, reason: str | None = None) -> None:
        """Records that what came out of an evaluation, a value or a failure, does not count any more.

        Its cost stays spent. Otherwise it is as if it had never been asked for: its design may be
        suggested again.
        """
        reason = None if reason is None else text(reason, "reason")
        self._handle.retract(number_of(suggestion), reason)

    def withdraw(self, suggestion: Suggestion | int) -> None:
        """Takes an evaluation back: it will not be made, and nothing is spent."""
        self._handle.withdraw(number_of(suggestion))

    def retry(self, suggestion: Suggestion | int) -> None:
        """Makes a failed evaluation pending again, because what was wrong has been mended."""
        self._handle.retry(number_of(suggestion))

    def pending(self) -> list[Suggestion]:
        """Evaluations whose result is awaited, whoever asked for them."""
        problem = self.problem
        waiting = [e for e in self._evaluations() if e["status"] == "pending"]
        return [Suggestion(e, problem) for e in waiting]

    def add(self, data: Any, *, ignore_others: bool = False) -> int:
        """Adds results from elsewhere, all rows or none; returns how many values are new.

        `data` is a frame of pandas or polars, a list of dicts or a dict of lists, with a column for each
        parameter and for the outputs that were measured, perhaps with standard errors as `NAME.sd`.
        None, NaN or no column at all: not measured. What the study has already is left out, so that the
        same data may be added again. `ignore_others` passes over columns that are something else.

        >>> from unyoke import Problem, Real, Minimise
        >>> problem = Problem({"x": Real(0, 1)}, {"mass": Minimise(cost=1), "drag": Minimise(cost=5)})
        >>> study = Study.open(None, problem)
        >>> study.add([{"x": 0.1, "mass": 1.5}, {"x": 0.7, "mass": 2.5, "drag": 0.3}])
        3
        """
        found = frames.results(data, self.problem, ignore_others=ignore_others)
        return self._handle.add(to_json(found))

    def set_cost(self, measurement: str, cost: Cost) -> None:
        """Changes what a measurement costs from now on."""
        name = text(measurement, "measurement")
        self._handle.set_cost(name, to_json(price(cost, name)))

    def amend(
        self,
        problem: Problem | None = None,
        *,
        was: Mapping[str, Any] | None = None,
        algorithm: str | None = None,
        preference: Mapping[str, Any] | None = None,
        enough: Mapping[str, float] | None = None,
        engine: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Changes the study from now on; what is not said stays. Returns what has changed of the problem
        and of the settings, in words.

        `preference` and `enough` are as in study files, `engine` has its settings. With a `problem`,
        bounds, choices, scales, noise, directions, limits and costs become those of it, and parameters,
        outputs and measurements are added that are new. `was` has the value of each new parameter that
        all designs so far had. Nothing that was measured is lost. Refused while the study is being run.

        >>> from unyoke import Problem, Real, Minimise
        >>> study = Study.open(None, Problem({"x": Real(0, 1)}, {"mass": Minimise(cost=1)}))
        >>> study.amend(Problem({"x": Real(0, 2)}, {"mass": Minimise(cost=1)}))
        ['parameter "x" high from 1.0 to 2.0']
        """
        if problem is not None and not isinstance(problem, Problem):
            raise TypeError(f"problem must be a Problem, not {kind(problem)}")
        if was is not None and problem is None:
            raise ProblemError("was goes with a problem that has new parameters")
        said = self._config()
        said.update(preference_settings(preference))
        said.update(mapping(engine or {}, "engine"))
        if algorithm is not None:
            said["algorithm"] = text(algorithm, "algorithm")
        if problem is not None:
            said["enough"] = problem._enough()
        if enough is not None:
            said["enough"] = mapping(enough, "enough")
        new = problem._written() if problem is not None else json.loads(self._handle.problem())
        before = {} if was is None else mapping(was, "was")
        changes = self._handle.redefine(to_json(new), to_json(said), to_json(before))
        self._description = json.loads(self._handle.description())
        return changes

    # What is known.

    def front(self, count: int = 20, *, cautious: float | None = None) -> Front:
        """The predicted trade-offs, at most `count` designs.

        With `cautious`, designs are ranked by the values that they reach with this probability, from
        0.5 to below 1; 0.9 is usual.
        """
        if integer(count, "count") < 1:
            raise DataError("count must be at least 1")
        quantile = None if cautious is None else number(cautious, "cautious")
        view = json.loads(self._handle.front(int(count), quantile))
        return Front(view, self, self._handle.measured())

    def measured_front(self) -> list[dict[str, Any]]:
        """What was measured: designs at which every output was, feasible and not beaten by another.

        Each has its `design` and, by output, `value`, standard error `sd` and the single values
        `measured`, as `docs/views.md` has them.
        """
        return list(json.loads(self._handle.measured_front())["points"])

    def best(self, weights: Mapping[str, float]) -> Point:
        """The best design of the front for these weights of the objectives.

        From three parameters on designs are compared by values that are reached with a probability
        of 0.7: of those that promise about the same, it is the one of which more is known
        (docs/recommendation.md). Only proportions of weights count; an objective that is left out
        has none.
        """
        said = mapping(weights, "weights")
        objectives = list(self.problem.objectives)
        for name in said:
            if name not in objectives:
                raise DataError(f'no objective is called "{name}"{hint(name, objectives)}')
        vector = [number(said.get(name, 0.0), f"the weight of {name}") for name in objectives]
        return Point(json.loads(self._handle.best(vector))["points"][0], self.problem)

    def predict(self, designs: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Expected values and their standard deviations: two arrays, a row for each design, a column for
        each output in the order of `problem.outputs`.

        `designs` is a frame, a list of dicts, one design, or an array with a column for each parameter.
        """
        found = frames.designs_of(designs, self.problem)
        mean, deviation = self._handle.predict(to_json(found))
        return mean, deviation

    def score(self, designs: Any) -> list[dict[str, Any]]:
        """What is expected of designs, and what measuring them is worth: for each the view of
        `unyoke explain --at`."""
        found = frames.designs_of(designs, self.problem)
        views: list[dict[str, Any]] = json.loads(self._handle.explain_designs(to_json(found)))
        return views

    def explain(self) -> Explanation:
        """What would be asked for now, and why, without asking for it."""
        return Explanation(json.loads(self._handle.explain()), self.problem)

    def models(self) -> list[dict[str, Any]]:
        """How far the model of each output can be trusted."""
        found: list[dict[str, Any]] = json.loads(self._handle.models())
        return found

    def status(self) -> dict[str, Any]:
        """How the study stands: the view of `unyoke status`."""
        found: dict[str, Any] = json.loads(self._handle.status())
        return found

    def evaluations(self, frame: frames.Kind = "pandas") -> Any:
        """A data frame with a row for each evaluation, whatever became of it."""
        return frames.frame(frames.evaluation_columns(self._evaluations(), self.problem), frame)

    def designs(self, frame: frames.Kind = "pandas") -> Any:
        """A data frame with a row for each design that has values; blank where nothing was measured."""
        return frames.frame(frames.design_columns(self._evaluations(), self.problem), frame)

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """The study as one page of HTML, written to `path` if there is one."""
        page = self._handle.report()
        if path is not None:
            replace_file(Path(path), page)
        return page

    # Run.

    def measures(
        self,
        measurement: str,
        *,
        slots: int | None = None,
        retries: int = 0,
        executor: jobs.JobExecutor | None = None,
    ) -> Callable[[Function], Function]:
        """Says that a function makes a measurement: it gets the parameters by name.

        It returns a number, a number with its standard error, or either for each output in a dict; None
        in a dict, NaN and infinities say that there is no value. A `Result` says more, such as the real
        cost. An exception is a failure of the evaluation. At most `slots` run at once; after a failure
        it is tried `retries` times more. `executor` says where it is made, if not by this program: `Local`,
        `Slurm` or `Command`.

        >>> from unyoke import Problem, Real, Minimise
        >>> problem = Problem({"x": Real(0, 1)}, {"mass": Minimise(cost=1)})
        >>> study = Study.open(None, problem)
        >>> @study.measures("mass")
        ... def mass(x):
        ...     return (x - 0.3) ** 2
        >>> study.run(budget=12).completed
        12
        """
        name = text(measurement, "measurement")
        self._require_measurements([name])
        if executor is not None and not isinstance(executor, jobs.JobExecutor):
            raise TypeError(f"executor must be Local, Slurm or Command, not {kind(executor)}")
        if isinstance(executor, jobs.Hand):
            raise TypeError(f"no function is needed for what is made by hand: run(..., executor={{{name!r}: uk.Hand()}})")
        if slots is not None and integer(slots, "slots") < 1 or integer(retries, "retries") < 0:
            raise DataError("slots must be at least 1, and retries at least 0")

        def register(function: Function) -> Function:
            running.check_function(function, name, self.problem._parameters)
            self._measures[name] = running.Measure(function, slots, retries, executor)
            return function

        return register

    def run(
        self,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        *,
        budget: float | None = None,
        executor: Executor | jobs.JobExecutor | Mapping[str, jobs.JobExecutor] | None = None,
        evaluations: int | Mapping[str, int] | None = None,
        wall_time: float | None = None,
        until: datetime | timedelta | float | None = None,
        slots: int | None = None,
        trials: int = 3,
        confirm: float | None = None,
        folder: Union[str, os.PathLike[str], None] = None,
        progress: bool | None = None,
    ) -> Summary:
        """Asks, calls functions and tells what came out, until nothing more fits into the budget.

        `functions` measure what they are named for, beside those of `measures`. `budget` is the most that
        the study may spend in all, `evaluations` the most that this run makes,
        or the most of each measurement in all, `wall_time` in seconds. `until` is when the run is to end: a
        `datetime`, a `timedelta` or seconds from now; nothing is begun here that would take longer, going by
        the longest so far. `confirm` is the share of the budget that is kept to measure what recommended
        designs lack. `slots` is how
        many run at once, by default as many as the executor has workers. A measurement that fails
        `trials` times and never gives a value ends the run. `progress` shows a bar.

        `executor` is where functions are called: in this thread if there is none; in any
        `concurrent.futures.Executor`; as processes of their own, `Local()`; as jobs, `Slurm(...)` or
        `Command(...)`; or one of these for each measurement, by name. Processes and jobs have their folders
        beside the study, or in `folder`.

        It may be interrupted, or killed, and run again: what was measured is recorded, and what was
        unfinished is made again first. After Ctrl-C what runs is waited for; a second one leaves it.
        Processes and jobs go on without this program: Ctrl-C leaves them, and the next run collects
        their results.
        """
        self._register(functions)
        places = jobs.chosen(self, executor)
        pool = None if isinstance(executor, (jobs.JobExecutor, Mapping)) else executor
        if pool is not None:
            running.check_executor(pool, self._measures)
        left = running.seconds_until(until)
        limits = running.limits_of(
            self,
            budget=budget,
            evaluations=evaluations,
            wall_time=wall_time,
            slots=self._slots(slots, places is not None, pool),
            trials=integer(trials, "trials"),
            confirm=confirm,
            until=left,
        )
        if places is not None:
            return jobs.run(self, places, limits, until=left, folder=folder, progress=progress)
        if folder is not None:
            raise RunError("folder is for processes and jobs: executor=Local(), Slurm(...) or Command(...)")
        driver = running.begin(self, limits, until=left, progress=progress, may_await=False)
        try:
            if pool is None:
                running.serially(driver)
            else:
                running.in_executor(driver, pool)
            return driver.summary()
        finally:
            driver.shown.close()
            self._handle.end_run()

    async def run_async(
        self,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        *,
        budget: float | None = None,
        executor: Executor | None = None,
        evaluations: int | Mapping[str, int] | None = None,
        wall_time: float | None = None,
        until: datetime | timedelta | float | None = None,
        slots: int = 1,
        trials: int = 3,
        confirm: float | None = None,
        progress: bool | None = None,
    ) -> Summary:
        """Like `run`, with functions that are awaited; others are called in `executor`, by default that
        of the running loop. `slots` is how many run at once."""
        self._register(functions)
        if jobs.chosen(self, executor) is not None:
            raise RunError("processes and jobs are not awaited: study.run(...), perhaps in a thread")
        left = running.seconds_until(until)
        limits = running.limits_of(
            self,
            budget=budget,
            evaluations=evaluations,
            wall_time=wall_time,
            slots=integer(slots, "slots"),
            trials=integer(trials, "trials"),
            confirm=confirm,
            until=left,
        )
        driver = running.begin(self, limits, until=left, progress=progress, may_await=True)
        try:
            await running.as_tasks(driver, executor)
            return driver.summary()
        finally:
            driver.shown.close()
            self._handle.end_run()

    def _register(self, functions: Any) -> None:
        """Functions by name, as if by `measures`."""
        if functions is None:
            return
        if not isinstance(functions, Mapping):
            raise TypeError(
                f"functions must be a dict of functions by measurement, not {kind(functions)}; a budget is "
                "said by its name, as in run(budget=160)"
            )
        self._require_measurements(functions)
        for name, function in functions.items():
            running.check_function(function, name, self.problem._parameters)
        for name, function in functions.items():
            known = self._measures.get(name, running.Measure(function, None, 0))
            self._measures[name] = replace(known, function=function)

    def _require_measurements(self, names: Iterable[str]) -> None:
        known = self.problem.measurements
        for name in names:
            if name not in known:
                raise DataError(f'no measurement is called "{name}"{hint(str(name), known)}')

    def _slots(self, slots: Any, as_jobs: bool, pool: Any) -> int:
        """How many run at once: what is said, or what the executor or the study file says, or one."""
        if slots is not None:
            return integer(slots, "slots")
        if pool is not None:
            return running.slots_of(pool)
        return int(self._description["slots"]) if as_jobs and self._description["file"] else 1

    def __repr__(self) -> str:
        try:
            return f"<Study at {self.store}, {self.spent:.4g} spent>"
        except StateError as error:
            return f"<Study at {self.store}: {error}>"

    def _repr_html_(self) -> str:
        name = self._description["name"] or self.store
        page = views.study_page(self.status(), str(name))
        return page + (self.front().svg() or "" if self._handle.has_values() else "")

    def _config(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._handle.description())["config"]
        return found

    def _evaluations(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._handle.evaluations())
        return found

    def _evaluation(self, number: int) -> dict[str, Any]:
        for evaluation in self._evaluations():
            if evaluation["evaluation"] == number:
                return evaluation
        raise DataError(f"there is no evaluation {number}")


def settings(
    problem: Problem,
    algorithm: str,
    initial: int | Mapping[str, Any] | None,
    preference: Mapping[str, Any] | None,
    engine: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Settings as journals have them, from the sections of a study file."""
    config = mapping(engine or {}, "engine")
    config["algorithm"] = text(algorithm, "algorithm")
    if isinstance(initial, Mapping):
        config["initial"] = mapping(initial, "initial")
    elif initial is not None:
        config["initial"] = {"designs": integer(initial, "initial")}
    config.update(preference_settings(preference))
    enough = problem._enough()
    if enough:
        config["enough"] = enough
    return config


def preference_settings(preference: Mapping[str, Any] | None) -> dict[str, Any]:
    """`[preference]` of a study file: utility and importance."""
    said = mapping(preference or {}, "preference")
    config: dict[str, Any] = {}
    if "importance" in said:
        importance = said.pop("importance")
        statements: Sequence[Any] = [importance] if isinstance(importance, str) else importance
        config["preference"] = {"importance": list(statements)}
    if "utility" in said:
        config["utility"] = said.pop("utility")
    if said:
        raise ProblemError(f"preference has no {short(next(iter(said)))}, only importance and utility")
    return config


def positive(value: Any, what: str) -> float:
    found = number(value, what)
    if found <= 0:
        raise DataError(f"{what} is {found:g}, but must be positive")
    return found


def seed_of(seed: Any) -> int:
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise TypeError(f"seed must be an integer, not {kind(seed)}")
    found = int(seed)
    if not 0 <= found < 2**64:
        raise DataError(f"seed is {found}, but must be from 0 to 2**64 - 1")
    return found


def number_of(suggestion: Any) -> int:
    """The number of an evaluation."""
    if isinstance(suggestion, Suggestion):
        return suggestion.evaluation
    if isinstance(suggestion, bool) or not hasattr(suggestion, "__index__"):
        raise TypeError(
            f"an evaluation is a suggestion or its number, not {kind(suggestion)}"
        )
    found = int(suggestion)
    if not 0 <= found < 2**64:
        raise DataError(f"there is no evaluation {found}")
    return found


def replace_file(path: Path, content: str) -> None:
    """Writes a file in full or not at all."""
    if path.is_symlink():
        raise OSError(f"{path} is a symbolic link, which is not followed")
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=".", delete=False
    ) as file:
        file.write(content)
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(file.name, 0o666 & ~umask)
    os.replace(file.name, path)
