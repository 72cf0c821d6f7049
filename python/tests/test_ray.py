"""Runs on Ray, with real workers. Run by `cargo xtask python-long`."""

import asyncio
import collections
import os
import signal
import sys
import threading
import time

import pytest

import conftest
import unyoke as uk
from conftest import deflection_of, mass_of, plain
from test_killing import audit, completed

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def ray(tmp_path_factory):
    ray = pytest.importorskip("ray")
    import ray.cloudpickle

    # Workers cannot import the tests.
    for module in (conftest, sys.modules[__name__]):
        ray.cloudpickle.register_pickle_by_value(module)
    # Workers look into this folder first; they shall have the package that is installed.
    here = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("driver"))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    os.chdir(here)
    yield ray
    ray.shutdown()


@pytest.fixture
def executor(ray):
    from unyoke.executors import RayExecutor

    with RayExecutor(2) as executor:
        yield executor


def note(path, line):
    """Adds a line to a file, from whichever process."""
    with open(path, "a") as file:
        file.write(f"{line}\n")


def lines(path):
    return path.read_text().split() if path.exists() else []


def test_two_hundred_evaluations_survive_killed_workers(executor, tmp_path):
    """Workers are killed (-9) five times, in the midst of a call."""
    study = uk.Study.open(tmp_path / "beam.db", plain(), algorithm="sobol")
    begun, ended = tmp_path / "begun", tmp_path / "ended"

    def measured(function):
        def measure(root, tip):
            note(begun, f"{os.getpid()}:{root!r}")
            time.sleep(0.05)
            value = function(root, tip)
            note(ended, repr(root))
            return value

        return measure

    study.measures("mass")(measured(mass_of))
    study.measures("deflection")(measured(deflection_of))
    over, killed = threading.Event(), []
    seen: dict[int, dict] = {}

    def kill():
        while not over.is_set() and len(killed) < 5:
            wanted = 30 * (1 + len(killed))
            if len(lines(begun)) >= wanted:
                worker = int(lines(begun)[-1].split(":")[0])
                try:
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
                except ProcessLookupError:
                    pass
                completed(tmp_path / "beam.db", seen)
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        summary = study.run(budget=1130, executor=executor)
    finally:
        over.set()
        killer.join()
    assert (len(killed), summary.ending) == (5, "budget"), summary
    audit(study, seen, 1130)
    evaluations = study._evaluations()
    assert summary.completed == len(evaluations) >= 200
    # Each function was called once to its end for each evaluation; what was killed was begun again.
    roots = collections.Counter(repr(e["design"]["root"]) for e in evaluations)
    assert set(lines(ended)) == set(roots)
    again = len(lines(begun)) - len(evaluations)
    print(f"\nRay: {len(evaluations)} evaluations, {len(killed)} workers killed, {again} calls made again")


@pytest.mark.parametrize("awaited", [False, True])
def test_a_function_that_kills_its_workers_has_failed(ray, tmp_path, awaited):
    from unyoke.executors import RayExecutor

    study = uk.Study.open(tmp_path / "beam.db", plain(), algorithm="sobol")
    study.measures("mass")(lambda root, tip: os.kill(os.getpid(), 9))
    study.measures("deflection")(deflection_of)
    with RayExecutor(2, max_retries=0) as executor:
        if awaited:
            summary = asyncio.run(study.run_async(budget=200, executor=executor, slots=2))
        else:
            summary = study.run(budget=200, executor=executor)
    assert summary.ending == "failing" and not study.pending()
    reasons = {e["reason"] for e in study._evaluations() if e["status"] == "failed"}
    assert reasons and all("worker died" in reason for reason in reasons)


def test_cancelling_a_future_cancels_its_task(ray, executor, tmp_path):
    begun, ended = tmp_path / "begun", tmp_path / "ended"

    def slow():
        note(begun, "x")
        for _ in range(600):
            time.sleep(0.1)
        note(ended, "x")

    future = executor.submit(slow)
    while not begun.exists():
        time.sleep(0.01)
    future.cancel()
    error = future.exception(timeout=30)
    assert isinstance(error, ray.exceptions.TaskCancelledError) and error.unyoke_lost
    assert not ended.exists()


def test_a_cancelled_evaluation_stays_pending(executor):
    study = uk.Study.open(None, plain(), algorithm="sobol")
    futures = []
    submit = executor.submit

    def cancelling(*arguments):
        futures.append(submit(*arguments))
        if len(futures) == 3:
            futures[-1].cancel()
        return futures[-1]

    executor.submit = cancelling
    for name, function in {"mass": mass_of, "deflection": deflection_of}.items():
        study.measures(name)(slowly(function))
    with pytest.raises(uk.RunError, match="executor lost evaluation 2"):
        study.run(budget=75, executor=executor)
    assert {e["status"] for e in study._evaluations()} == {"completed", "pending"}
    executor.submit = submit
    summary = study.run(budget=75, executor=executor)
    assert summary.resumed == 1 and summary.ending == "budget" and not study.pending()


def slowly(function):
    def measure(root, tip):
        time.sleep(0.3)
        return function(root, tip)

    return measure
