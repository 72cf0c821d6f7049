"""Runs on Dask, with real workers."""

import os
import pathlib
import sys
import time

import cloudpickle
import distributed
import pytest

import conftest
import unyoke as uk
from conftest import beam, begun, deflection_of, mass_of, plain, with_functions

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(conftest)
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def executor():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client.get_executor()


def test_a_run_spends_its_budget_and_no_more(executor):
    study = with_functions(uk.Study.open(None, beam()))
    summary = study.run(budget=75, executor=executor, slots=2)
    assert summary.ending == "budget" and 65 < study.spent <= 75 and not study.pending()
    assert {e["status"] for e in study._evaluations()} == {"completed"}


def times_called(path):
    """Counts calls, in whichever process."""
    with open(path, "a") as file:
        file.write("x")
    return os.path.getsize(path)


def test_a_failure_is_really_tried_again(executor, tmp_path):
    """Dask takes calls with the same arguments for one and would give the first failure again."""
    study = uk.Study.open(None, plain(), algorithm="sobol")
    path = str(tmp_path / "calls")

    def flaky(root, tip):
        if times_called(path) % 2:
            raise OSError("licence server")
        return mass_of(root, tip)

    study.measures("mass", retries=1)(flaky)
    study.measures("deflection")(deflection_of)
    summary = study.run(evaluations={"mass": 3, "deflection": 3}, executor=executor, slots=1)
    assert (summary.failed, summary.completed) == (0, 6) and times_called(path) == 7


def test_a_measurement_that_is_repeated_is_made_again(executor, tmp_path):
    path = str(tmp_path / "calls")
    problem = uk.Problem({"x": uk.Int(1, 2)}, {"y": uk.Minimise(cost=1, noise=0.1)})
    study = uk.Study.open(None, problem)
    study.measures("y")(lambda x: float(times_called(path)))
    study.run(evaluations=8, executor=executor, slots=1)
    values = [e["values"]["y"]["value"] for e in study._evaluations()]
    assert values == [float(number) for number in range(1, 9)]


def test_a_worker_that_dies_costs_no_evaluation(executor, tmp_path):
    study = uk.Study.open(tmp_path / "beam.db", plain(), algorithm="sobol")
    marker = tmp_path / "killed"

    def mass(root, tip):
        if not pathlib.Path(marker).exists():
            pathlib.Path(marker).touch()
            os.kill(os.getpid(), 9)
        return mass_of(root, tip)

    study.measures("mass")(mass)
    study.measures("deflection")(deflection_of)
    summary = study.run(budget=75, executor=executor, slots=2)
    assert marker.exists() and summary.ending == "budget"
    assert {e["status"] for e in study._evaluations()} == {"completed"}
    assert study.spent == sum(e["cost"] for e in study._evaluations()) <= 75


def test_an_interrupt_waits_for_what_runs(executor):
    study = uk.Study.open(None, plain(), algorithm="sobol")

    def slow(root, tip):
        time.sleep(0.5)
        return mass_of(root, tip)

    study.measures("mass")(slow)
    study.measures("deflection")(deflection_of)
    driver = begun(study, budget=100, slots=2)
    shown = driver.show

    def interrupting():
        shown()
        if driver.started == 2:
            driver.show = shown
            raise KeyboardInterrupt

    driver.show = interrupting
    uk.running.in_executor(driver, executor)
    study._handle.end_run()
    # The second one was interrupted while it was chosen; the first one was running.
    assert [e["status"] for e in study._evaluations()] == ["completed", "pending"]
