"""Functions as jobs of a real Slurm of one node, which `cargo xtask python` starts.

Without a cluster these tests are skipped; `cargo xtask slurm COMMAND` gives one to a command.
"""

import os
import random
import signal
import subprocess
import time

import pytest

import unyoke as uk
from conftest import deflection_of, mass_of, plain
from test_jobs import audit, drive, logged, wait_until

pytestmark = pytest.mark.skipif(
    "UNYOKE_TEST_SLURM" not in os.environ, reason="no Slurm: cargo xtask python"
)

#: What is quick in tests.
QUICK = dict(poll=1, grace=4, time="10m", cpus=1, memory="10M")

EXECUTOR = "uk.Slurm(poll=1, grace=4, time='10m', cpus=1, memory='10M', slots=1)"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def slurm(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def opened(place="beam.db"):
    return uk.Study.open(place, plain(), algorithm="sobol")


def test_drivers_that_are_killed_lose_and_double_nothing(here):
    """Twenty evaluations, the driver killed (-9) five times, in the midst of whatever it does."""
    moments = random.Random(5)
    for kill in range(5):
        driver = drive(here, "beam.db", 20, 1, EXECUTOR)
        wait_until(lambda: len(logged(here, "began")) >= 3 * kill + 2)
        time.sleep(moments.random() * 0.5)
        assert driver.poll() is None, "it was over before it was killed"
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    out, _ = drive(here, "beam.db", 20, 1, EXECUTOR).communicate(timeout=300)
    assert out.split()[1] == "budget"
    audit(here, here / "beam.db", 20)
    # No function was begun twice, and all were jobs.
    assert len(logged(here, "began")) == 20
    assert all((here / f"beam.runs/{number:06}/1/job.json").exists() for number in range(20))


def test_a_journal_file_and_ctrl_c(here):
    driver = drive(here, "file:beam.journal", 8, 2, EXECUTOR)
    wait_until(lambda: len(logged(here, "began")) >= 2)
    os.killpg(driver.pid, signal.SIGINT)
    assert "interrupted" in driver.communicate(timeout=60)[0]
    assert slurm("squeue", "-h"), "the jobs go on"
    out, _ = drive(here, "file:beam.journal", 8, 0, EXECUTOR).communicate(timeout=300)
    assert out.split()[1] == "budget"
    audit(here, "file:beam.journal", 8)
    assert len(logged(here, "began")) == 8


def test_lambdas_run_and_exceptions_come_back(here):
    study, factor = opened(), 3

    def broken(root, tip):
        raise ValueError(f"no mesh at {root}")

    functions = {"mass": lambda root, tip: factor * root, "deflection": broken}
    summary = study.run(functions, budget=200, executor=uk.Slurm(**QUICK, slots=3))
    assert summary.ending == "failing" and "in broken" in summary.reason
    for e in study._evaluations():
        if e["measurement"] == "mass":
            assert e["values"]["mass"]["value"] == 3 * e["design"]["root"]
        else:
            assert "ValueError: no mesh at" in e["reason"]


def test_reasons_of_waiting_jobs_are_seen(here):
    study, node = opened(), slurm("sinfo", "-h", "-N", "-o", "%N").split()[0]
    slurm("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
    try:
        summary = study.run(
            {"mass": mass_of, "deflection": deflection_of}, budget=33, until=6, executor=uk.Slurm(**QUICK)
        )
        assert summary.ending == "until" and summary.completed == 0
        pending = study.status()["pending"]
        assert pending and all(" queued (" in one["job"] for one in pending)
    finally:
        slurm("scontrol", "update", f"nodename={node}", "state=resume")
    summary = study.run(budget=33, executor=uk.Slurm(**QUICK))
    assert (summary.ending, summary.resumed) == ("budget", len(pending)) and 22 < study.spent <= 33


def test_what_slurm_refuses_is_an_error_with_its_words(here):
    study = opened()
    functions = {"mass": mass_of, "deflection": deflection_of}
    with pytest.raises(uk.RunError, match="(?i)invalid partition"):
        study.run(functions, budget=33, executor=uk.Slurm(**QUICK, partition="nowhere"))
    with pytest.raises(uk.RunError, match="unrecognized option"):
        study.run(functions, budget=33, executor=uk.Slurm(**QUICK, extra=["--no-such-option"]))
    assert study.spent == 0
    assert study.run(functions, budget=33, executor=uk.Slurm(**QUICK)).ending == "budget"


def test_slurm_and_this_machine_share_a_study(here):
    study = opened()
    study.measures("mass", executor=uk.Local(slots=2))(mass_of)
    study.measures("deflection", executor=uk.Slurm(**QUICK, slots=2))(deflection_of)
    summary = study.run(budget=44)
    assert (summary.ending, summary.failed) == ("budget", 0) and 33 < study.spent <= 44
    jobs = {
        e["measurement"]: (here / f"beam.runs/{e['evaluation']:06}/1/job.json").exists()
        for e in study._evaluations()
    }
    assert jobs == {"mass": False, "deflection": True}
