"""The loop around functions: ask, call, tell, until the budget is spent.

What may be started is decided in Rust, by the limits that the program `unyoke` has. Here are the calls:
in this thread (`serially`), by an executor (`in_executor`), or as tasks (`as_tasks`). A value is
recorded in the moment in which it arrives, by whichever thread brings it, and not when the loop comes
round to it.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
import signal
import sys
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from .errors import DataError, RunError
from .outcome import without_nonsense, written
from .problem import Value, integer, kind, number, short, to_json
from .progress import Progress, progress_for

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from .study import Study

#: How often it is looked whether others have ended what must be waited for, in seconds.
PAUSE = 0.2


@dataclass(frozen=True)
class Measure:
    """A function that makes a measurement."""

    function: Callable[..., Any]
    slots: int | None
    retries: int
    #: Where it is made, if not by this program: one of `unyoke.jobs`.
    executor: Any = None

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)


@dataclass
class Job:
    """An evaluation that is made here."""

    evaluation: int
    measurement: str
    design: dict[str, Value]
    attempt: int = 1
    #: How long all attempts took.
    seconds: float = 0.0


@dataclass(frozen=True)
class Ended:
    """What came of calling a function: a value, or the text of an exception."""

    value: Any
    failure: str | None
    seconds: float


@dataclass(frozen=True)
class Summary:
    """How a run ended.

    `ending` is `"budget"`, `"exhausted"` (every design was evaluated), `"wall_time"`, `"until"`, `"evaluations"`,
    `"failing"` (a measurement never gave a value), `"paused"` (what is left is) or `"not_worthwhile"`; `reason`
    says it in words.
    """

    ending: str
    reason: str
    #: Evaluations that gave values.
    completed: int
    #: Evaluations that failed.
    failed: int
    #: Evaluations that a run which is gone had begun, made again.
    resumed: int
    #: What the study has spent in all.
    spent: float


def call(function: Callable[..., Any], design: Mapping[str, Value], ticket: str = "") -> Ended:
    """Calls a function, perhaps in another process, from which not every exception can come back.

    Every call has another `ticket`: Dask takes calls with the same arguments for one call, but repeated
    measurements and attempts are calls of their own.
    """
    began = time.perf_counter()
    try:
        value, failure = function(**design), None
    except Exception as error:
        value, failure = None, in_words(error)
    return Ended(value, failure, time.perf_counter() - began)


def in_words(error: BaseException) -> str:
    """An exception as a failure is recorded: its type and its text."""
    try:
        text = str(error).strip().replace("\0", " ")
    except Exception:
        text = ""
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def check_function(function: Any, name: str, parameters: Mapping[str, Any]) -> None:
    """Fails if a function cannot be called with the parameters by name."""
    if not callable(function):
        raise TypeError(f"{name} must be measured by a function, not by {kind(function)}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(**dict.fromkeys(parameters))
    except TypeError as error:
        wanted = ", ".join(parameters)
        raise TypeError(
            f"the function for {name} cannot be called with the parameters {wanted}: {error}"
        ) from None


@dataclass
class Driver:
    """A run under way: what runs, what came of it, and why it ends."""

    study: Study
    measures: dict[str, Measure]
    settings: str
    most: int | None
    deadline: float | None
    #: When to end, by the same clock.
    until: float | None
    shown: Progress
    #: The longest call for each measurement so far.
    longest: dict[str, float] = field(default_factory=dict)
    running: dict[int, Job] = field(default_factory=dict)
    started: int = 0
    completed: int = 0
    failed: int = 0
    resumed: int = 0
    over: tuple[str, str] | None = None
    #: Why nothing new is started, if that is an error.
    broken: BaseException | None = None
    #: Values may be recorded by several threads.
    counting: threading.Lock = field(default_factory=threading.Lock)

    def next(self) -> Job | None:
        """Another evaluation to be made; None if there is none now, or no more at all."""
        if self.over is not None or self.broken is not None:
            return None
        if self.most is not None and self.started >= self.most:
            self.over = ("evaluations", f"{self.most} evaluations were made")
        elif self.deadline is not None and time.monotonic() >= self.deadline:
            self.over = ("wall_time", "the time is over")
        elif self.until is not None and time.monotonic() >= self.until:
            self.over = ("until", "the run was to end now")
        if self.over is not None:
            return None
        found = json.loads(self.study._handle.next(self.settings, list(self.running), self.too_long()))
        if found == "wait":
            return None
        if "over" in found:
            self.over = (found["over"]["ending"], found["over"]["reason"])
            return None
        start = found["start"]
        problem = self.study.problem
        design = {name: start["design"][name] for name in problem._parameters}
        job = Job(start["evaluation"], start["measurement"], design)
        self.running[job.evaluation] = job
        self.started += 1
        if start["resumed"]:
            self.resumed += 1
            self.shown.note(
                f"evaluation {job.evaluation}: {job.measurement} was left unfinished by a run that is "
                "gone; it is made again"
            )
        self.show()
        return job

    def too_long(self) -> list[str]:
        """Measurements that would not end before the run is to end."""
        if self.until is None:
            return []
        left = self.until - time.monotonic()
        return [name for name, longest in self.longest.items() if longest > left]

    def show(self) -> None:
        spent, _ = self.study._handle.spent()
        now = ", ".join(sorted({job.measurement for job in list(self.running.values())}))
        failed = f", {self.failed} failed" if self.failed else ""
        self.shown.update(spent, f"{self.completed} done{failed}{': ' + now if now else ''}")

    def record(self, job: Job, ended: Ended) -> bool:
        """Records a value at once, by whichever thread. False if there is none: see `give_up`."""
        job.seconds += ended.seconds
        self.longest[job.measurement] = max(ended.seconds, self.longest.get(job.measurement, 0.0))
        if ended.failure is not None:
            return False
        outputs = self.study.problem.measurements[job.measurement].outputs
        try:
            outcome = written(without_nonsense(ended.value, outputs), outputs, self.study.problem)
        except (DataError, TypeError) as error:
            raise RunError(
                f"the function for {job.measurement} returned {short(ended.value)}: {error}. "
                f"Nothing was recorded; evaluation {job.evaluation} stays pending"
            ) from None
        outcome["seconds"] = job.seconds
        if not outcome["values"] and not outcome.get("missing"):
            outcome["missing"] = "no value"
        has_value = bool(outcome["values"])
        if self.study._handle.finish(job.evaluation, to_json(outcome)):
            with self.counting:
                self.completed += has_value
                self.failed += not has_value
        else:
            self.shown.note(f"evaluation {job.evaluation} was settled elsewhere; the result is kept")
        return True

    def has_retry(self, job: Job) -> bool:
        """Whether a failed evaluation is tried again at once."""
        if self.broken is not None or job.attempt > self.measures[job.measurement].retries:
            return False
        job.attempt += 1
        return True

    def give_up(self, job: Job, failure: str) -> None:
        """Records a failure."""
        outcome = {"missing": failure, "seconds": job.seconds}
        if self.study._handle.finish(job.evaluation, to_json(outcome)):
            self.failed += 1
        self.shown.note(f"evaluation {job.evaluation}: {job.measurement} failed: {failure}")
        self.drop(job)

    def drop(self, job: Job) -> None:
        self.running.pop(job.evaluation, None)
        self.show()

    def leave(self, job: Job) -> None:
        """Leaves an evaluation pending, for a later run."""
        self.running.pop(job.evaluation, None)
        self.study._handle.leave(job.evaluation)

    def summary(self) -> Summary:
        if self.broken is not None:
            raise self.broken
        ending, reason = self.over or ("exhausted", "nothing is left to do")
        spent, _ = self.study._handle.spent()
        return Summary(ending, reason, self.completed, self.failed, self.resumed, spent)


@dataclass(frozen=True)
class Limits:
    """What a run may spend and how many evaluations it makes at once, as the engine reads it."""

    settings: dict[str, Any]
    #: The most evaluations of this run.
    most: int | None


def limits_of(
    study: Study,
    *,
    budget: float | None,
    evaluations: int | Mapping[str, int] | None,
    wall_time: float | None,
    slots: int,
    trials: int,
    confirm: float | None,
    until: float | None,
) -> Limits:
    """Checks what a run may spend; what is not said is as the study file says."""
    said = study._description
    budget = said["budget"] if budget is None else number(budget, "budget")
    wall_time = said["wall_time"] if wall_time is None else number(wall_time, "wall_time")
    confirm = said["confirm"] if confirm is None else number(confirm, "confirm")
    most, counts = None, dict(said["evaluations"])
    if isinstance(evaluations, Mapping):
        counts = {name: integer(count, f"evaluations of {name}") for name, count in evaluations.items()}
        study._require_measurements(counts)
    elif evaluations is not None:
        most = integer(evaluations, "evaluations")
    if budget is not None and budget <= 0 or wall_time is not None and wall_time < 0:
        raise DataError("budget and wall_time must be positive")
    if budget is None and wall_time is None and most is None and not counts and until is None:
        raise RunError("say what may be spent: budget=..., evaluations=... or wall_time=...")
    if slots < 1 or trials < 1:
        raise DataError("slots and trials must be at least 1")
    if confirm is not None and not 0 < confirm < 1:
        raise DataError("confirm is the share of the budget kept for confirmations: between 0 and 1")
    if confirm is not None and budget is None:
        raise DataError("confirm needs a budget, of which it is a share")
    settings = {
        "budget": budget,
        "evaluations": counts,
        "wall_time": wall_time,
        "slots": slots,
        "slots_of": {},
        "trials": trials,
        "confirm": confirm,
    }
    return Limits(settings, most)


def seconds_until(until: datetime | timedelta | float | None) -> float | None:
    """How long a run may last that is to end then."""
    if until is None:
        return None
    if isinstance(until, datetime):
        return max(0.0, until.timestamp() - time.time())
    if isinstance(until, timedelta):
        return max(0.0, until.total_seconds())
    if isinstance(until, str):
        raise TypeError("until must be a datetime, a timedelta or seconds from now, not a text")
    return max(0.0, number(until, "until"))


def begin(
    study: Study, limits: Limits, *, until: float | None, progress: bool | None, may_await: bool
) -> Driver:
    """Checks everything about functions before anything is begun."""
    measures = dict(study._measures)
    for name in study.problem.measurements:
        if name not in measures:
            commands = study._description["commands"]
            other = "; `unyoke run` would run its command" if name in commands else ""
            raise RunError(f'no function measures {name}: @study.measures("{name}"){other}')
        if measures[name].is_async and not may_await:
            raise RunError(f"the function for {name} is asynchronous: await study.run_async(...)")
    slots_of = {name: one.slots for name, one in measures.items() if one.slots is not None}
    settings = {**limits.settings, "slots_of": slots_of}
    now = time.monotonic()
    wall_time, budget = settings["wall_time"], settings["budget"]
    deadline = None if wall_time is None else now + wall_time
    study._handle.begin_run()
    shown = progress_for(progress, budget)
    end = None if until is None else now + until
    return Driver(study, measures, to_json(settings), limits.most, deadline, end, shown)


def serially(driver: Driver) -> None:
    """Makes one evaluation after the other, in this thread."""
    while driver.over is None and driver.broken is None:
        job = driver.next()
        if job is None:
            if driver.over is None:
                time.sleep(PAUSE)
            continue
        while True:
            try:
                ended = call(driver.measures[job.measurement].function, job.design)
                if driver.record(job, ended):
                    driver.drop(job)
                    break
            except RunError as error:
                driver.broken = error
                driver.leave(job)
                break
            except BaseException:
                # Ctrl-C: it has not ended, so it is made again by the next run.
                driver.leave(job)
                raise
            if not driver.has_retry(job):
                driver.give_up(job, ended.failure or "no value")
                break


@dataclass(frozen=True)
class Arrival:
    """A future is done. A value has been recorded by now."""

    job: Job
    failure: str | None = None
    #: Its executor lost it, or it was cancelled: it has not ended.
    lost: BaseException | None = None
    #: The run cannot go on.
    error: BaseException | None = None


class Pool:
    """Evaluations in an executor."""

    def __init__(self, driver: Driver, executor: Executor) -> None:
        self.driver, self.executor = driver, executor
        self.arrivals: SimpleQueue[Arrival | None] = SimpleQueue()
        self.futures: dict[int, Future[Ended]] = {}

    def submit(self, job: Job) -> None:
        function = self.driver.measures[job.measurement].function
        try:
            future = self.executor.submit(call, function, job.design, uuid.uuid4().hex)
        except (BrokenExecutor, RuntimeError) as error:
            self.arrivals.put(Arrival(job, lost=error))
            return
        self.futures[job.evaluation] = future
        future.add_done_callback(lambda done: self.arrivals.put(self.arrived(job, done)))

    def arrived(self, job: Job, future: Future[Ended]) -> Arrival:
        """Records a value, on the thread of the executor that brings it."""
        try:
            ended = future.result()
        except (CancelledError, KeyboardInterrupt, BrokenExecutor) as lost:
            return Arrival(job, lost=lost)
        except BaseException as error:
            if getattr(error, "unyoke_lost", False):
                return Arrival(job, lost=error)
            return Arrival(job, failure=in_words(error))
        try:
            recorded = self.driver.record(job, ended)
            return Arrival(job, failure=None if recorded else ended.failure)
        except BaseException as error:
            return Arrival(job, error=error)

    def fill(self) -> None:
        while (job := self.driver.next()) is not None:
            if self.driver.broken is not None:
                # Interrupted while it was chosen.
                self.driver.leave(job)
                return
            self.submit(job)

    def attend(self, arrival: Arrival) -> None:
        """Goes on after a future is done."""
        driver, job = self.driver, arrival.job
        if arrival.failure is not None and driver.has_retry(job):
            driver.shown.note(f"evaluation {job.evaluation}: {arrival.failure}; tried again")
            self.submit(job)
            return
        self.futures.pop(job.evaluation, None)
        if arrival.failure is not None:
            driver.give_up(job, arrival.failure)
        elif arrival.lost is not None or arrival.error is not None:
            driver.leave(job)
            driver.broken = driver.broken or self.reason(arrival)
        else:
            driver.drop(job)

    def reason(self, arrival: Arrival) -> BaseException:
        lost = arrival.lost
        if lost is None:
            return arrival.error or RunError("unknown")
        if isinstance(lost, KeyboardInterrupt):
            return KeyboardInterrupt()
        error = RunError(
            f"the executor lost evaluation {arrival.job.evaluation} ({in_words(lost)}); what was "
            "unfinished stays pending, and the next run makes it again"
        )
        error.__cause__ = lost
        return error

    def work(self) -> None:
        while True:
            self.fill()
            if not self.driver.running:
                if self.driver.over is not None or self.driver.broken is not None:
                    return
                time.sleep(PAUSE)
                continue
            self.listen()

    def listen(self) -> None:
        """Waits until something has ended, and goes on with all that has."""
        arrival = self.arrivals.get()
        while True:
            if arrival is not None:
                self.attend(arrival)
            if self.arrivals.empty():
                return
            arrival = self.arrivals.get()

    def interrupt(self) -> None:
        """After Ctrl-C: nothing is begun.

        Futures of the standard pools know whether they have begun. Those of Dask never say so, and
        cancelling them would throw away what runs.
        """
        driver = self.driver
        driver.broken = driver.broken or KeyboardInterrupt()
        if type(self.executor).__module__.startswith("concurrent.futures."):
            for future in list(self.futures.values()):
                future.cancel()
        many = len(driver.running)
        if many:
            driver.shown.note(
                f"interrupted: waiting for {many} evaluation{'s' if many > 1 else ''}; interrupt again "
                "to leave them to the next run"
            )
        # Whoever waits for something to end looks again.
        self.arrivals.put(None)

    def wind_down(self) -> None:
        """Waits for what runs. Where an exception has cut in, an arrival may have been lost."""
        while any(not future.done() for future in list(self.futures.values())):
            try:
                arrival = self.arrivals.get(timeout=PAUSE)
            except Empty:
                continue
            if arrival is not None:
                self.attend(arrival)
        while not self.arrivals.empty():
            if (arrival := self.arrivals.get()) is not None:
                self.attend(arrival)
        for job in list(self.driver.running.values()):
            self.driver.leave(job)


@contextmanager
def interrupts(pool: Pool) -> Iterator[None]:
    """The first Ctrl-C winds a run down in good order; the second one is an exception, as always.

    Only where nobody else handles it, and on the thread on which it arrives.
    """
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not is_ours:
        yield
        return

    def handle(*_: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        pool.interrupt()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def in_executor(driver: Driver, executor: Executor) -> None:
    """Makes evaluations in an executor, as many at once as there are slots."""
    pool = Pool(driver, executor)
    try:
        with interrupts(pool):
            pool.work()
    except KeyboardInterrupt:
        if driver.broken is not None:
            # The second one: what still runs is left. If this program stays, its values are recorded.
            raise
        pool.interrupt()
        pool.wind_down()


def check_executor(executor: Any, measures: Mapping[str, Measure]) -> None:
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(
            "executor must be Local, Slurm, Command, or a concurrent.futures.Executor, not "
            f"{kind(executor)}"
        )
    # Whoever has one has imported it; we need not.
    processes = sys.modules.get("concurrent.futures.process")
    if processes is not None and isinstance(executor, processes.ProcessPoolExecutor):
        for name, measure in measures.items():
            try:
                pickle.dumps(measure.function)
            except Exception as error:
                raise RunError(
                    f"the function for {name} cannot be sent to other processes ({error}); define it "
                    "at the top level of a module"
                ) from None


def slots_of(executor: Any) -> int:
    """How many evaluations an executor makes at once."""
    workers = getattr(executor, "_max_workers", None)
    return workers if isinstance(workers, int) and workers > 0 else os.cpu_count() or 1


async def as_tasks(driver: Driver, executor: Executor | None) -> None:
    """Makes evaluations as tasks of the running loop; plain functions go to `executor`."""
    import asyncio

    loop = asyncio.get_running_loop()

    async def make(job: Job) -> None:
        measure = driver.measures[job.measurement]
        while True:
            if measure.is_async:
                ended = await call_async(measure.function, job.design)
            else:
                ended = await in_loop(loop, executor, measure.function, job.design)
            if await asyncio.to_thread(driver.record, job, ended):
                driver.drop(job)
                return
            if not driver.has_retry(job):
                await asyncio.to_thread(driver.give_up, job, ended.failure or "no value")
                return

    tasks: dict[asyncio.Task[None], Job] = {}
    try:
        while True:
            while (job := await asyncio.to_thread(driver.next)) is not None:
                tasks[loop.create_task(make(job))] = job
            if not tasks:
                if driver.over is not None or driver.broken is not None:
                    return
                await asyncio.sleep(PAUSE)
                continue
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                job = tasks.pop(task)
                error = task.exception() if not task.cancelled() else RunError("cancelled")
                if error is not None:
                    driver.leave(job)
                    driver.broken = driver.broken or error
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def in_loop(
    loop: AbstractEventLoop, executor: Executor | None, function: Callable[..., Any], design: Mapping[str, Value]
) -> Ended:
    """Calls a function in an executor. One whose workers keep dying has failed, as in `Pool.arrived`."""
    began = time.perf_counter()
    try:
        return await loop.run_in_executor(executor, call, function, design, uuid.uuid4().hex)
    except (CancelledError, BrokenExecutor):
        raise
    except Exception as error:
        if getattr(error, "unyoke_lost", False):
            raise
        return Ended(None, in_words(error), time.perf_counter() - began)


async def call_async(function: Callable[..., Awaitable[Any]], design: Mapping[str, Value]) -> Ended:
    """The same as `call` for a function that is awaited."""
    began = time.perf_counter()
    try:
        value, failure = await function(**design), None
    except Exception as error:
        value, failure = None, in_words(error)
    return Ended(value, failure, time.perf_counter() - began)
