"""Forks, threads, memory, and what importing brings in."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time

import pytest

import unyoke as uk
from conftest import advance, beam, plain, value_of


def in_child(work):
    """What `work` gives in a forked process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = str(work())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    return answer


def test_a_forked_process_is_refused_and_opens_its_own(tmp_path):
    path = tmp_path / "beam.db"
    study = uk.Study.open(path, beam())
    advance(study, 14)  # threads that compute have begun

    assert in_child(study.ask).startswith("StateError: this study was opened before")
    assert in_child(lambda: study.front(3)).startswith("StateError")
    assert in_child(study.close).startswith("StateError")

    def own():
        again = uk.Study.open(path)
        suggestion = again.ask()
        again.tell(suggestion, value_of(suggestion))
        return suggestion.evaluation

    assert in_child(own) == "14"
    assert len(study._evaluations()) == 15, "what the child wrote is seen"
    advance(study, 1)


def test_a_study_in_memory_is_refused_in_a_forked_process(told):
    assert in_child(lambda: told.spent).startswith("StateError")
    told.ask()


def compute_in_worker(path):
    study = uk.Study.open(path)
    return study.ask().evaluation


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_every_kind_compute_with_their_own_study(tmp_path, method):
    path = tmp_path / "beam.db"
    study = uk.Study.open(path, beam())
    advance(study, 14)
    with multiprocessing.get_context(method).Pool(2) as pool:
        numbers = pool.map(compute_in_worker, [path, path])
    assert sorted(numbers) == [14, 15]


def test_the_interpreter_is_free_while_a_study_computes(told):
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    before = ticks
    for _ in range(3):
        told.explain()
    after = ticks
    done.set()
    ticker.join()
    assert after > before + 3, "nothing else could run"


def test_memory_stays_flat_over_a_thousand_asks():
    study = uk.Study.open(None, plain(), algorithm="sobol")

    def ask_often(times):
        for _ in range(times):
            study.withdraw(study.ask())

    def used():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    ask_often(200)
    before = used()
    ask_often(1000)
    # A record and an evaluation for each are the history itself.
    assert used() - before < 8e6


def test_memory_stays_flat_over_searches(told):
    def used():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(5):
        told.explain()
    before = used()
    for _ in range(15):
        told.explain()
    assert used() - before < 8e6


FOREIGN = """
import sys, time
before = set(sys.modules)
import numpy
numpy_brings = set(sys.modules)
import unyoke
brought = {name.split('.')[0] for name in set(sys.modules) - numpy_brings}
foreign = {n for n in brought if n not in sys.stdlib_module_names and n != 'unyoke'}
print(sorted(foreign))
"""


def test_importing_brings_in_numpy_only():
    done = subprocess.run([sys.executable, "-P", "-c", FOREIGN], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


FRESH = """
import importlib.metadata, unyoke as uk
problem = uk.Problem({"x": uk.Real(0, 1)}, {"mass": uk.Minimise(cost=1)})
study = uk.Study.open(None, problem)
for _ in range(3):
    study.tell(study.ask(), 0.5)
print(study.predict({"x": 0.5})[0].shape)
print(sorted(one.metadata["Name"] for one in importlib.metadata.distributions()))
"""


def test_the_wheel_works_in_a_fresh_environment(tmp_path):
    wheel = os.environ.get("UNYOKE_TEST_WHEEL")
    if not wheel:
        pytest.skip("the wheel is built by cargo xtask python")
    folder = tmp_path / "fresh"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    subprocess.run([*pip, "--disable-pip-version-check", wheel], check=True)

    def said(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split("\n")

    assert said(python, "-c", FRESH)[:2] == ["(1, 1)", "['numpy', 'unyoke']"]
    assert said(folder / "bin" / "unyoke", "--version") == said(python, "-m", "unyoke", "--version")


def test_the_program_is_in_the_wheel():
    assert os.access(uk.program(), os.X_OK)
    done = subprocess.run([uk.program(), "--version"], capture_output=True, text=True)
    assert uk.__version__ in done.stdout
