"""Runs of functions: budget, slots, retries, failures, executors, tasks, Ctrl-C."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import unyoke as uk
from conftest import beam, begun, deflection_of, mass_of, plain, with_functions


def statuses(study):
    return [row["status"] for row in study.evaluations("rows")]


@pytest.mark.parametrize("make", [None, ThreadPoolExecutor, ProcessPoolExecutor])
def test_a_run_spends_its_budget_and_no_more(make):
    study = with_functions(uk.Study.open(None, beam()))
    if make is None:
        summary = study.run(budget=75)
    else:
        with make(3) as pool:
            summary = study.run(budget=75, executor=pool)
    assert summary.ending == "budget" and summary.spent == study.spent
    assert 65 < study.spent <= 75 and not study.pending()
    assert summary.completed == len(statuses(study)) and set(statuses(study)) == {"completed"}
    # A larger budget goes on from there.
    assert study.run(budget=80).spent > 75


def test_a_serial_run_is_the_loop_of_ask_and_tell():
    by_run = with_functions(uk.Study.open(None, beam(), seed=5))
    by_run.run(budget=70)
    by_hand = uk.Study.open(None, beam(), seed=5, budget=None)
    rows = by_run.evaluations("rows")
    for row in rows:
        suggestion = by_hand.ask()
        assert suggestion.design == {"root": row["root"], "tip": row["tip"]}
        by_hand.tell(suggestion, row[suggestion.measurement])
        if by_hand.spent > 45:
            break  # near the end only what fits into the budget is compared


def test_exceptions_are_failures_with_their_text():
    study = with_functions(uk.Study.open(None, beam()))

    def breaking(root, tip):
        if root > 0.14:
            raise ValueError(f"no mesh at {root:.2f}")
        return deflection_of(root, tip)

    study.measures("deflection")(breaking)
    summary = study.run(budget=90)
    reasons = [r["reason"] for r in study.evaluations("rows") if r["status"] == "failed"]
    assert summary.failed == len(reasons) > 0
    assert all(reason.startswith("ValueError: no mesh at 0.1") for reason in reasons)
    assert study.spent <= 90, "a failure costs as much as a success"


def test_a_measurement_that_never_works_ends_the_run():
    study = with_functions(uk.Study.open(None, beam()))
    study.measures("deflection")(lambda root, tip: 1 / 0)
    summary = study.run(budget=500)
    assert summary.ending == "failing" and "deflection failed 3 times" in summary.reason
    assert "ZeroDivisionError" in summary.reason and study.spent < 60


def test_nan_is_no_value():
    study = with_functions(uk.Study.open(None, beam()))
    study.measures("mass")(lambda root, tip: float("nan") if root > 0.14 else mass_of(root, tip))
    assert study.run(budget=60).failed > 0
    assert not [v for e in study._evaluations() for v in e["values"].values() if v["value"] != v["value"]]


def test_failures_are_retried_as_often_as_said():
    study = with_functions(uk.Study.open(None, beam()))
    calls = []

    def flaky(root, tip):
        calls.append(root)
        if len(calls) % 2:
            raise OSError("licence server")
        return mass_of(root, tip)

    study.measures("mass", retries=1)(flaky)
    summary = study.run(budget=40)
    assert summary.failed == 0 and len(calls) == 2 * statuses(study).count("completed") - 2 * len(
        [e for e in study._evaluations() if e["measurement"] == "deflection"]
    )


def test_no_more_run_at_once_than_there_are_slots():
    study = uk.Study.open(None, beam())
    now, most = {"mass": 0, "deflection": 0}, {"mass": 0, "deflection": 0, "all": 0}
    lock, gate = threading.Lock(), threading.Barrier(2)

    def counted(name, function):
        def measure(root, tip):
            with lock:
                now[name] += 1
                most[name] = max(most[name], now[name])
                most["all"] = max(most["all"], sum(now.values()))
            try:
                gate.wait(timeout=0.05)
            except threading.BrokenBarrierError:
                gate.reset()
            with lock:
                now[name] -= 1
            return function(root, tip)

        return measure

    study.measures("mass")(counted("mass", mass_of))
    study.measures("deflection", slots=1)(counted("deflection", deflection_of))
    with ThreadPoolExecutor(4) as pool:
        study.run(budget=70, executor=pool, slots=3)
    assert most["deflection"] == 1 and 2 <= most["all"] <= 3


def test_several_outputs_and_learned_costs():
    problem = uk.Problem(
        {"x": uk.Real(0, 1)},
        {"lift": uk.Maximise(), "drag": uk.Minimise(), "mass": uk.Minimise(cost={"learn": "reported", "guess": 1})},
        measurements={"cfd": uk.Measurement(["lift", "drag"], cost={"learn": "time", "guess": 0.5})},
    )
    study = uk.Study.open(None, problem)
    study.measures("cfd")(lambda x: {"lift": (x, 0.01), "drag": None if x > 0.9 else x * x})
    study.measures("mass")(lambda x: uk.Result(1 - x, cost=0.25))
    study.run(evaluations=10)
    rows = study.evaluations("rows")
    assert all(row["spent"] < 0.2 for row in rows if row["measurement"] == "cfd"), "time is paid"
    assert all(row["spent"] == 0.25 for row in rows if row["measurement"] == "mass")
    assert len(rows) == 10


def test_counts_and_time_end_a_run():
    study = with_functions(uk.Study.open(None, beam()))
    assert study.run(evaluations=4).ending == "evaluations" and len(statuses(study)) == 4
    summary = study.run(evaluations={"mass": 6, "deflection": 2})
    counts = [e["measurement"] for e in study._evaluations()]
    assert summary.ending in ("budget", "exhausted")
    assert (counts.count("mass"), counts.count("deflection")) == (6, 2)
    assert study.run(budget=1000, wall_time=0).ending == "wall_time"


def test_tasks_are_awaited():
    study = uk.Study.open(None, beam())
    now, most = 0, 0

    @study.measures("mass")
    async def mass(root, tip):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return mass_of(root, tip)

    study.measures("deflection")(deflection_of)
    with pytest.raises(uk.RunError, match="run_async"):
        study.run(budget=40)
    summary = asyncio.run(study.run_async(budget=60, slots=3))
    assert summary.ending == "budget" and study.spent <= 60 and most >= 2


def test_cancelled_tasks_leave_their_evaluations_pending():
    study = uk.Study.open(None, beam())

    async def never(root, tip):
        await asyncio.sleep(3600)

    async def main():
        for name in ("mass", "deflection"):
            study.measures(name)(never)
        task = asyncio.create_task(study.run_async(budget=60, slots=2))
        while len(study.pending()) < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert len(study.pending()) == 2
    assert with_functions(study).run(budget=60).resumed == 2


def test_an_interrupt_in_this_thread_leaves_the_evaluation_to_the_next_run():
    study = with_functions(uk.Study.open(None, beam()))
    calls = []

    def interrupted(root, tip):
        calls.append(root)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return mass_of(root, tip)

    study.measures("mass")(interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.run(budget=60)
    assert len(study.pending()) == 1
    summary = study.run(budget=60)
    assert summary.resumed == 1 and not study.pending()
    assert calls[1] == calls[2], "the same design again"


def test_what_a_process_pool_was_doing_survives_a_broken_pool(tmp_path):
    study = with_functions(uk.Study.open(tmp_path / "beam.db", beam()))
    study.measures("deflection")(dying)
    with ProcessPoolExecutor(2) as pool, pytest.raises(uk.RunError, match="executor lost"):
        study.run(budget=200, executor=pool)
    assert "failed" not in statuses(study)
    study.measures("deflection")(deflection_of)
    with ProcessPoolExecutor(2) as pool:
        assert study.run(budget=60, executor=pool).resumed >= 1
    assert not study.pending()


def dying(root, tip):
    os._exit(1)


SCRIPT = textwrap.dedent(
    """
    import sys, time
    sys.path.insert(0, sys.argv[2])
    from concurrent.futures import ProcessPoolExecutor
    import unyoke as uk
    from conftest import beam, mass_of, deflection_of

    def slow(root, tip):
        with open(sys.argv[1] + ".begun", "a") as begun:
            begun.write(repr(root) + "\\n")
        time.sleep(0.3)
        return mass_of(root, tip)

    if __name__ == "__main__":
        study = uk.Study.open(sys.argv[1], beam())
        study.measures("mass")(slow)
        study.measures("deflection")(deflection_of)
        with ProcessPoolExecutor(2) as pool:
            print("begun", flush=True)
            study.run(budget=400, executor=pool, progress=True)
    """
)


def test_ctrl_c_waits_for_what_runs_and_loses_nothing(tmp_path):
    script, path = tmp_path / "study.py", tmp_path / "beam.db"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script), str(path), os.path.dirname(__file__)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    assert process.stdout.readline() == "begun\n"
    while not path.exists() or not [e for e in uk.Study.open(path)._evaluations() if e["values"]]:
        time.sleep(0.05)
    # As a terminal does, but to the driver alone: what runs can end.
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors
    assert "interrupted: waiting for" in errors
    study = uk.Study.open(path)
    opened = {float(line) for line in open(f"{path}.begun")}
    recorded = {e["design"]["root"] for e in study._evaluations() if e["measurement"] == "mass" and e["values"]}
    assert opened == recorded, "what ran was recorded"
    assert set(statuses(study)) <= {"completed", "pending"}
    with_functions(study).run(evaluations=5)
    assert not study.pending()


def test_an_interrupt_that_is_an_exception_winds_down_too():
    """As in a thread, or where somebody else handles signals."""
    study = with_functions(uk.Study.open(None, plain(), algorithm="sobol"))
    with ThreadPoolExecutor(2) as pool:
        driver = begun(study, budget=100, slots=2)
        noted = driver.show

        def interrupting():
            noted()
            if driver.started == 5:
                driver.show = noted
                raise KeyboardInterrupt

        driver.show = interrupting
        uk.running.in_executor(driver, pool)
        with pytest.raises(KeyboardInterrupt):
            driver.summary()
        study._handle.end_run()
    assert study.run(budget=100).ending == "budget" and not study.pending()
    assert study.spent <= 100


class Dying(Executor):
    """Whose workers die during every call for the mass."""

    _max_workers = 2

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        if args[0] is mass_of:
            future.set_exception(OSError("the worker died"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


@pytest.mark.parametrize("awaited", [False, True])
def test_functions_whose_workers_keep_dying_have_failed(awaited):
    study = with_functions(uk.Study.open(None, plain(), algorithm="sobol"))
    if awaited:
        summary = asyncio.run(study.run_async(budget=200, executor=Dying(), slots=2))
    else:
        summary = study.run(budget=200, executor=Dying())
    assert summary.ending == "failing" and not study.pending()
    reasons = {e["reason"] for e in study._evaluations() if e["status"] == "failed"}
    assert reasons == {"OSError: the worker died"}


@pytest.mark.parametrize("where", ["functions", "processes", "study file"])
def test_a_share_of_the_budget_is_kept_for_confirmations(tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    problem = uk.Problem({"x": uk.Real(0, 1)}, {"mass": uk.Minimise(cost=1), "drag": uk.Minimise(cost=3)})
    functions = {"mass": lambda x: x, "drag": lambda x: (1 - x) ** 2}
    if where == "study file":
        (tmp_path / "study.toml").write_text(STUDY_FILE)
        study = uk.Study.open("study.toml")
        summary = study.run(functions)
    else:
        study = uk.Study.open("beam.db", problem)
        executor = uk.Local() if where == "processes" else None
        summary = study.run(functions, budget=40, confirm=0.3, executor=executor)
    assert summary.ending == "budget" and study.spent <= 40
    origins = [e["origin"] for e in study._evaluations()]
    assert "confirmation" in origins
    # Not before the other share is spent.
    first = origins.index("confirmation")
    assert 28 - 3 < sum(e["spent"] for e in study._evaluations()[:first]) <= 28


STUDY_FILE = """
[budget]
cost = 40
[run]
confirm = 0.3
[parameters.x]
low = 0
high = 1
[objectives.mass]
direction = "minimise"
cost = 1
[objectives.drag]
direction = "minimise"
cost = 3
"""
