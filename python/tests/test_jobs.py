"""Functions as processes of their own and as jobs of a scheduler that is reached by commands."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import unyoke as uk
from conftest import deflection_of, mass_of, mixed, plain

DOCUMENT = (Path(__file__).parents[2] / "docs/clusters.md").read_text()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder of the test, as the folder that programs run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def scheduler(here):
    """A scheduler whose jobs are processes, by the scripts of the document."""
    for name in ("submit.sh", "status.sh", "cancel.sh"):
        script = DOCUMENT.split(f"# here/{name}\n")[1].split("```")[0]
        (here / name).write_text(f"#!/bin/sh\n{script}")
        (here / name).chmod(0o755)
    return uk.Command(
        submit=["./submit.sh", "{name}", "{script}"],
        status=["./status.sh"],
        cancel=["./cancel.sh", "{name}"],
        poll=0.2,
        grace=timedelta(seconds=2),
        slots=2,
    )


def opened(place="beam.db", **settings):
    return uk.Study.open(place, plain(), algorithm="sobol", **settings)


def test_closures_lambdas_and_functions_of_modules_run_as_processes(here):
    study, factor = opened(), 3
    log = here / "log"

    def mass(root, tip):
        with log.open("a") as file:
            file.write(f"{os.getpid()}\n")
        print("anything", 7)
        return factor * root

    summary = study.run({"mass": mass, "deflection": deflection_of}, budget=46, executor=uk.Local(slots=2))
    assert (summary.ending, summary.failed, summary.spent) == ("budget", 0, 46.0)
    masses = [e for e in study._evaluations() if e["measurement"] == "mass"]
    assert all(e["values"]["mass"]["value"] == 3 * e["design"]["root"] for e in masses)
    processes = log.read_text().split()
    assert len(set(processes)) == len(masses) and str(os.getpid()) not in processes
    # Functions are remembered, and the next run has only to go on.
    assert study.run(budget=68, executor=uk.Local(), slots=2).completed > 0


def test_what_functions_may_return_they_may_return_as_jobs(here):
    study = uk.Study.open("mixed.db", mixed(), algorithm="sobol")

    def fem(root, layers, material):
        if material == "oak":
            return {"deflection": (3.7, 0.1), "stress": None}
        return uk.Result({"deflection": float("nan"), "stress": 180}, cost=7.5, missing="diverged")

    study.run({"mass": lambda **_: (2.0, 0.5), "fem": fem}, evaluations=16, executor=uk.Local(slots=4))
    for e in study._evaluations():
        assert e["status"] == "completed", e
        if e["measurement"] == "mass":
            assert e["values"] == {"mass": {"value": 2.0, "sd": 0.5}}
        elif e["design"]["material"] == "oak":
            assert e["values"] == {"deflection": {"value": 3.7, "sd": 0.1}}
            assert e["reason"] == "stress: no value"
        else:
            assert list(e["values"]) == ["stress"] and e["reason"] == "diverged"
            assert e["spent"] == 7.5


def test_an_exception_is_a_failure_with_its_place(here):
    study = opened()

    def broken(root, tip):
        raise ValueError("the mesh\nbroke")

    summary = study.run({"mass": mass_of, "deflection": broken}, budget=200, executor=uk.Local(slots=3))
    assert summary.ending == "failing" and summary.failed == 3
    # The last lines of its traceback.
    assert "in broken" in summary.reason and 'raise ValueError("the mesh\\nbroke")' in summary.reason
    [reason] = {e["reason"] for e in study._evaluations() if e["status"] == "failed"}
    assert "ValueError: the mesh broke (test_jobs.py:" in reason and reason.endswith("in broken)")


@pytest.mark.parametrize("value", ["'much'", "{'mas': 1}", "uk.Result(1.0, design={'root': 0.5})", "[1, 2]"])
def test_what_makes_no_sense_is_a_failure_that_says_so(here, value):
    study = opened()
    function = eval(f"lambda root, tip: {value}", {"uk": uk})
    study.run({"mass": function, "deflection": deflection_of}, evaluations={"mass": 1, "deflection": 0}, executor=uk.Local())
    [e] = study._evaluations()
    assert e["status"] == "failed" and "TypeError: " in e["reason"]


def test_a_failure_is_tried_again_as_often_as_is_said(here):
    study, log = opened(), here / "log"

    @study.measures("mass", retries=2, executor=uk.Local())
    def mass(root, tip):
        with log.open("a") as file:
            file.write("x")
        if len(log.read_text()) < 3:
            raise RuntimeError("not yet")
        return 1.5

    study.measures("deflection", executor=uk.Local())(deflection_of)
    summary = study.run(evaluations={"mass": 1, "deflection": 0})
    assert (summary.completed, summary.failed, log.read_text()) == (1, 0, "xxx")


DRIVER = textwrap.dedent(
    """
    import os, sys, time
    import unyoke as uk
    problem = uk.Problem({"x": uk.Real(0, 1)}, {"mass": uk.Minimise(cost=1), "drag": uk.Minimise(cost=1)})
    study = uk.Study.open(sys.argv[1], problem, algorithm="sobol")

    def slow(sign):
        def measure(x):
            number = os.environ["UNYOKE_EVALUATION"]
            with open("log", "a") as file:
                file.write(f"began {number}\\n")
            time.sleep(float(sys_argv[3]))
            with open("log", "a") as file:
                file.write(f"ended {number}\\n")
            return sign * x
        sys_argv = list(sys.argv)
        return measure

    executor = eval(sys.argv[4])
    print("running", flush=True)
    try:
        summary = study.run({"mass": slow(1), "drag": slow(-1)}, budget=float(sys.argv[2]), executor=executor)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(0)
    print(summary.ending, summary.completed, summary.resumed, flush=True)
    """
)


def drive(folder, place, budget, seconds, executor):
    (folder / "driver.py").write_text(DRIVER)
    arguments = [sys.executable, "driver.py", place, str(budget), str(seconds), executor]
    return subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True)


def logged(folder, word):
    path = folder / "log"
    lines = path.read_text().split("\n") if path.exists() else []
    return [line.split()[1] for line in lines if line.startswith(word)]


def wait_until(is_so):
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < 120, "not within minutes"
        time.sleep(0.02)


def audit(folder, place, count):
    """Nothing lost, nothing doubled, the budget kept."""
    study = uk.Study.open(str(place))
    evaluations = study._evaluations()
    assert {e["status"] for e in evaluations} == {"completed"}
    assert (len(evaluations), study.spent) == (count, float(count))
    for e in evaluations:
        sign = {"mass": 1, "drag": -1}[e["measurement"]]
        assert e["values"][e["measurement"]]["value"] == sign * e["design"]["x"]
    assert sorted(logged(folder, "ended"), key=int) == [str(n) for n in range(count)]
    assert study.status()["late_results"] == 0
    study.close()


@pytest.mark.parametrize("place", ["beam.db", "file:beam.journal"])
def test_ctrl_c_leaves_what_runs_and_the_next_run_collects_it(here, place):
    driver = drive(here, place, 8, 2, "uk.Local(slots=2)")
    wait_until(lambda: len(logged(here, "began")) >= 2)
    os.killpg(driver.pid, signal.SIGINT)
    out, _ = driver.communicate(timeout=60)
    assert "interrupted" in out
    before = uk.Study.open(place)
    left = len(before.pending())
    done = len(before._evaluations()) - left
    before.close()
    assert left >= 1
    out, _ = drive(here, place, 8, 0, "uk.Local(slots=2)").communicate(timeout=120)
    # What was left was waited for, and not begun again.
    assert out.split()[-3:] == ["budget", str(8 - done), str(left)]
    assert sorted(logged(here, "began"), key=int) == [str(n) for n in range(8)]
    audit(here, here / place if place == "beam.db" else place, 8)


def test_drivers_that_are_killed_lose_and_double_nothing(scheduler, here):
    executor = (
        "uk.Command(submit=['./submit.sh', '{name}', '{script}'], status=['./status.sh'], "
        "cancel=['./cancel.sh', '{name}'], poll=0.2, grace=2, slots=2)"
    )
    for kill in range(4):
        driver = drive(here, "beam.db", 12, 0.3, executor)
        wait_until(lambda: len(logged(here, "began")) > 2 * kill + 1)
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    out, _ = drive(here, "beam.db", 12, 0.3, executor).communicate(timeout=300)
    assert out.split()[1] == "budget"
    audit(here, here / "beam.db", 12)
    assert len(logged(here, "began")) == 12


def test_executors_mix_in_one_study_and_one_budget(scheduler, here):
    problem = uk.Problem(
        {"x": uk.Real(0, 1)},
        {"mass": uk.Minimise(cost=1), "drag": uk.Minimise(cost=1), "taste": uk.Maximise(cost=1)},
    )
    study = uk.Study.open("beam.db", problem, algorithm="sobol")
    over = threading.Event()

    def taste():
        while not over.is_set():
            for suggestion in study.pending():
                if suggestion.measurement == "taste":
                    study.tell(suggestion, 1.5)
            time.sleep(0.05)

    person = threading.Thread(target=taste)
    person.start()
    executors = {"mass": uk.Local(), "drag": scheduler, "taste": uk.Hand()}
    try:
        summary = study.run({"mass": lambda x: x, "drag": lambda x: -x}, budget=18, executor=executors)
    finally:
        over.set()
        person.join()
    for suggestion in study.pending():
        study.tell(suggestion, 1.5)
    evaluations = study._evaluations()
    of = [e["measurement"] for e in evaluations]
    assert summary.ending == "budget" and study.spent == 18 == len(of)
    assert all(of.count(name) >= 4 for name in executors)
    numbers = {name: of.index(name) for name in executors}
    jobs = {name: (here / f"beam.runs/{number:06}/1/job.json").exists() for name, number in numbers.items()}
    assert jobs == {"mass": False, "drag": True, "taste": False}


def test_commands_of_a_study_file_and_functions_share_a_run(here):
    (here / "study.toml").write_text(
        """
        [budget]
        cost = 8
        [study]
        algorithm = "sobol"
        [parameters.x]
        low = 0
        high = 1
        [objectives.mass]
        direction = "minimise"
        cost = 1
        command = ["echo", "{x}"]
        [objectives.drag]
        direction = "minimise"
        cost = 1
        """
    )
    study = uk.Study.open("study.toml")
    summary = study.run({"drag": lambda x: -x}, executor=uk.Local())
    assert (summary.ending, summary.completed) == ("budget", 8)
    assert {e["measurement"] for e in study._evaluations()} == {"mass", "drag"}


def test_a_run_ends_when_it_is_told_to(here):
    study = opened()
    study.measures("mass")(mass_of)
    study.measures("deflection")(deflection_of)
    assert study.run(evaluations=3, executor=uk.Local()).ending == "evaluations"
    assert len(study._evaluations()) == 3
    assert study.run(budget=500, until=timedelta(0), executor=uk.Local()).ending == "until"
    assert study.run(budget=500, until=datetime(2020, 1, 1)).ending == "until"
    assert len(study._evaluations()) == 3

    def endless(root, tip):
        time.sleep(600)

    summary = study.run({"mass": endless, "deflection": endless}, budget=500, until=1.5, executor=uk.Local())
    assert summary.ending == "until"
    [left] = [s.evaluation for s in study.pending()]
    # What was left is stopped by whoever takes it back.
    (here / f"beam.runs/{left:06}/1/stop").touch()


def test_nothing_is_begun_that_would_not_end_in_time():
    study = uk.Study.open(None, plain(), algorithm="sobol")

    def slow(root, tip):
        time.sleep(0.3)
        return root

    summary = study.run({"mass": slow, "deflection": slow}, budget=500, until=1.0)
    assert summary.ending == "until" and 1 <= summary.completed <= 3


def test_a_paused_measurement_is_left_out(here):
    study = opened()
    study.pause("deflection", reason="no licence")
    summary = study.run({"mass": mass_of, "deflection": deflection_of}, budget=500, evaluations=5, executor=uk.Local())
    assert summary.ending in ("paused", "evaluations")
    assert {e["measurement"] for e in study._evaluations()} == {"mass"}


def test_a_timeout_stops_a_function(here):
    study = opened()
    endless = lambda root, tip: time.sleep(600)  # noqa: E731
    study.run(
        {"mass": endless, "deflection": deflection_of},
        evaluations={"mass": 1, "deflection": 0},
        executor=uk.Local(timeout=0.5),
    )
    [e] = study._evaluations()
    assert e["status"] == "failed" and "took longer than 0.5 s" in e["reason"]


def test_what_cloudpickle_is_for_is_said_where_it_is_missing(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    study = opened()
    with pytest.raises(uk.Error, match=r"pip install 'unyoke\[jobs\]'"):
        study.run({"mass": mass_of, "deflection": deflection_of}, budget=20, executor=uk.Local())
    assert not study._evaluations()


def test_a_function_that_cannot_be_pickled_is_named(here):
    study, lock = opened(), threading.Lock()
    with pytest.raises(uk.RunError, match="the function for mass cannot be sent to a job"):
        study.run({"mass": lambda root, tip: lock, "deflection": deflection_of}, budget=20, executor=uk.Local())


def test_a_study_in_memory_has_no_place_for_jobs(study):
    with pytest.raises(uk.StateError, match="open it at a path"):
        study.run({"mass": mass_of, "deflection": deflection_of}, budget=20, executor=uk.Local())


def test_a_study_in_a_database_needs_a_folder(postgres, here):
    study = uk.Study.open(postgres, plain(), algorithm="sobol")
    functions = {"mass": mass_of, "deflection": deflection_of}
    with pytest.raises(uk.StateError, match="folder="):
        study.run(functions, budget=22, executor=uk.Local())
    assert study.run(functions, budget=22, executor=uk.Local(), folder="attempts").completed == 4
    assert (here / "attempts/functions").is_dir()


async def asynchronous(root, tip):
    return root


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda s: uk.Slurm(memory="much"), uk.DataError, "slurm.memory"),
        (lambda s: uk.Slurm(memory=16), TypeError, "memory"),
        (lambda s: uk.Slurm(time="4 moons"), uk.DataError, "slurm.time"),
        (lambda s: uk.Slurm(time=-1), uk.DataError, "longer than nothing"),
        (lambda s: uk.Slurm(cpus=0), uk.DataError, "slurm.cpus"),
        (lambda s: uk.Slurm(partition="-p x"), uk.DataError, "slurm.partition"),
        (lambda s: uk.Slurm(extra="--account=x"), TypeError, "list of texts"),
        (lambda s: uk.Slurm(extra=["--job-name=x"]), uk.DataError, "names of our own"),
        (lambda s: uk.Slurm(poll="0s"), uk.DataError, "poll"),
        (lambda s: uk.Slurm("cpu"), TypeError, "positional"),
        (lambda s: uk.Slurm(gpus=1), TypeError, "gpus"),
        (lambda s: uk.Local(slots=0), uk.DataError, "slots"),
        (lambda s: uk.Local(env={"A": 1}), TypeError, "env A"),
        (lambda s: uk.Hand(slots=-1), uk.DataError, "slots"),
        (lambda s: uk.Command(submit=["qsub"], status=["qstat"], cancel=["qdel"]), uk.DataError, "{script}"),
        (lambda s: uk.Command(submit="qsub {name} {script}", status=["q"], cancel=["q"]), TypeError, "submit"),
        (lambda s: s.run(160), TypeError, r"run\(budget=160\)"),
        (lambda s: s.run({"mas": mass_of}, budget=9), uk.DataError, 'did you mean "mass"'),
        (lambda s: s.run({"mass": 3}, budget=9), TypeError, "must be measured by a function"),
        (lambda s: s.run({"mass": lambda x: x}, budget=9), TypeError, "root, tip"),
        (lambda s: s.run({"mass": mass_of}, budget=9, executor=uk.Local()), uk.RunError, "no function measures deflection"),
        (lambda s: s.run({"mass": mass_of}, budget=9, executor={"mass": "slurm"}), TypeError, "Local, Slurm"),
        (lambda s: s.run(budget=9, executor={"mas": uk.Local()}), uk.DataError, "mas"),
        (lambda s: s.run(budget=9, executor="slurm"), TypeError, "executor must be Local"),
        (lambda s: s.run(FUNCTIONS, executor=uk.Local()), uk.RunError, "say what may be spent"),
        (lambda s: s.run(FUNCTIONS, budget=9, until="3h"), TypeError, "until"),
        (lambda s: s.run(FUNCTIONS, budget=9, confirm=2), uk.DataError, "confirm"),
        (lambda s: s.run(FUNCTIONS, evaluations=9, confirm=0.2), uk.DataError, "confirm needs a budget"),
        (lambda s: s.run(FUNCTIONS, budget=9, folder="x"), uk.RunError, "folder is for"),
        (lambda s: s.measures("mass", executor="slurm"), TypeError, "executor must be"),
        (lambda s: s.measures("mass", executor=uk.Hand()), TypeError, "by hand"),
        (
            lambda s: s.run({**FUNCTIONS, "mass": asynchronous}, budget=9, executor=uk.Local()),
            uk.RunError,
            "asynchronous",
        ),
        (
            lambda s: s.run(
                FUNCTIONS,
                budget=9,
                executor=uk.Command(submit=["./no", "{name}", "{script}"], status=["no"], cancel=["no", "{name}"]),
            ),
            uk.RunError,
            "was not found",
        ),
    ],
)
def test_wrong_uses_are_refused_before_anything_begins(here, make, error, message):
    study = opened()
    with pytest.raises(error, match=message):
        make(study)
    assert not study._evaluations() and study.spent == 0
    # The study can still be run.
    assert study.run(FUNCTIONS, budget=11).spent <= 11


FUNCTIONS = {"mass": mass_of, "deflection": deflection_of}


def test_functions_of_a_pool_and_jobs_do_not_mix(here):
    from concurrent.futures import ThreadPoolExecutor

    study = opened()
    study.measures("mass", executor=uk.Local())(mass_of)
    study.measures("deflection")(deflection_of)
    with ThreadPoolExecutor(2) as pool, pytest.raises(uk.RunError, match="mass runs as a job"):
        study.run(budget=20, executor=pool)


def test_a_study_that_is_run_as_jobs_can_be_used_by_other_threads(here):
    study, seen, over = opened(), [], threading.Event()

    def watch():
        while not over.is_set():
            seen.append(study.status()["committed"])
            with pytest.raises(uk.StateError):
                study.close()
            with pytest.raises(uk.StateError, match="being run already"):
                study.run(FUNCTIONS, budget=9)
            time.sleep(0.05)

    slow = lambda root, tip: time.sleep(0.5) or 1.0  # noqa: E731
    study._register({"mass": slow, "deflection": slow})
    watcher = threading.Timer(0.3, watch)
    watcher.start()
    try:
        study.run({"mass": slow, "deflection": slow}, budget=24, executor=uk.Local(slots=2))
    finally:
        over.set()
        watcher.join()
    assert seen and not study.pending()
    study.close()


def test_what_jobs_left_is_where_it_is_said(here):
    study = opened()
    study.run(FUNCTIONS, evaluations=1, executor=uk.Local())
    asked = json.loads((here / "beam.runs/000000/1/design.json").read_text())
    assert asked["design"] == study._evaluations()[0]["design"]
