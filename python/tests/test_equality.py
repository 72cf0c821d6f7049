"""The same seed gives the same study in Rust, in the program and in Python, bit for bit."""

import json
import subprocess

import pytest

import unyoke as uk
from conftest import VALUE, RustStudy, beam, value_of

FILE = """
[study]
seed = 7

[parameters.root]
low = 0.10
high = 0.18

[parameters.tip]
low = 1e-3
high = 0.1
scale = "log"

[objectives.mass]
direction = "minimise"
cost = 1

[objectives.deflection]
direction = "minimise"
cost = 10
"""


def unyoke(folder, *arguments):
    done = subprocess.run(
        [uk.program(), *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def steps_of_program(folder, count):
    """What the program asks for, and is told, in `count` steps."""
    asked = []
    for _ in range(count):
        [suggestion] = json.loads(unyoke(folder, "ask", "--json"))
        asked.append(suggestion)
        value = VALUE[suggestion["measurement"]](**suggestion["design"])
        unyoke(folder, "tell", str(suggestion["evaluation"]), repr(value))
    return asked


def steps_of_python(study, count):
    asked = []
    for _ in range(count):
        suggestion = study.ask()
        asked.append(suggestion.as_dict())
        study.tell(suggestion, value_of(suggestion))
    return asked


def steps_of_rust(study, count):
    asked = []
    for _ in range(count):
        suggestion, _ = study.ask()
        asked.append(suggestion)
        study.tell(VALUE[suggestion["measurement"]](**suggestion["design"]))
    return asked


def test_rust_program_and_python_suggest_the_same_bits(tmp_path, steps):
    (tmp_path / "study.toml").write_text(FILE)
    count = 18
    by_program = steps_of_program(tmp_path, count)
    in_memory = steps_of_python(uk.Study.open(None, beam(), seed=7), count)
    in_file = steps_of_python(uk.Study.open(tmp_path / "python.db", beam(), seed=7), count)
    with RustStudy(steps, uk.Study.open(None, beam(), seed=7)) as rust:
        in_rust = steps_of_rust(rust, count)
    assert any(step["options"] for step in by_program), "models were asked"
    # Equal as numbers of JSON, which have all their digits.
    assert in_rust == by_program == in_memory == in_file


def test_the_study_of_a_file_goes_on_in_python_and_the_other_way_round(tmp_path):
    (tmp_path / "study.toml").write_text(FILE)
    steps_of_program(tmp_path, 3)
    study = uk.Study.open(tmp_path / "study.toml")
    assert study.seed == 7 and len(study.evaluations("rows")) == 3
    steps_of_python(study, 10)
    front = study.front(20)
    explained = study.explain()
    study.close()
    assert json.loads(unyoke(tmp_path, "status", "--json"))["spent"] == sum(
        e["spent"] for e in json.loads(unyoke(tmp_path, "export", "--json"))
    )
    assert json.loads(unyoke(tmp_path, "front", "--json")) == front.as_dict()
    assert json.loads(unyoke(tmp_path, "explain", "--json")) == explained.as_dict()


def test_a_study_made_in_python_is_opened_by_the_program(tmp_path):
    study = uk.Study.open(tmp_path / "beam.db", beam(), seed=7)
    steps_of_python(study, 3)
    study.close()
    text = FILE.replace("[study]", '[study]\nstore = "beam.db"')
    (tmp_path / "other.toml").write_text(text)
    status = json.loads(unyoke(tmp_path, "status", "other.toml", "--json"))
    assert status["measurements"][0]["completed"] + status["measurements"][1]["completed"] == 3


def test_a_budget_means_as_few_initial_designs_as_in_a_study_file(tmp_path):
    (tmp_path / "study.toml").write_text(FILE + "\n[budget]\ncost = 100\n")
    of_file = uk.Study.open(tmp_path / "study.toml")
    of_python = uk.Study.open(None, beam(), seed=7, budget=100)
    assert of_file._config() == of_python._config() and of_python._config()["initial"]["designs"] == 3
    assert of_file.budget == of_python.budget == 100


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_python_runs_the_program_too(arguments):
    import sys

    # -P: the package that is installed, not the sources in this folder.
    command = [sys.executable, "-P", "-m", "unyoke", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "unyoke" in done.stdout.lower()
