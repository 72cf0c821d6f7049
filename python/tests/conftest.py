"""What tests share: a beam with a cheap mass and an expensive deflection."""

import json
import os
import subprocess
import uuid

import pytest

import unyoke as uk


def beam() -> uk.Problem:
    return uk.Problem(
        parameters={"root": uk.Real(0.10, 0.18), "tip": uk.Real(1e-3, 0.1, log=True)},
        objectives={"mass": uk.Minimise(cost=1), "deflection": uk.Minimise(cost=10)},
    )


def plain() -> uk.Problem:
    """The same between 0 and 1, for algorithms that measure everything at each design."""
    return uk.Problem(
        parameters={"root": uk.Real(0, 1), "tip": uk.Real(0, 1)},
        objectives={"mass": uk.Minimise(cost=1), "deflection": uk.Minimise(cost=10)},
    )


def mixed() -> uk.Problem:
    return uk.Problem(
        parameters={
            "root": uk.Real(0.10, 0.18),
            "layers": uk.Int(1, 8),
            "material": uk.Choice("steel", "oak"),
        },
        objectives={"mass": uk.Minimise(cost=1), "deflection": uk.Minimise(noise=0.05)},
        constraints={"stress": uk.AtMost(200)},
        measurements={"fem": uk.Measurement(["deflection", "stress"], cost=10)},
        limits={"slender": "root * layers <= 1.2"},
    )


def mass_of(root, tip):
    return 40 * (root + tip)


def deflection_of(root, tip):
    return 1e-3 / (root**3 + 0.2 * tip**2 + 1e-9)


VALUE = {"mass": mass_of, "deflection": deflection_of}


def value_of(suggestion: uk.Suggestion) -> float:
    return VALUE[suggestion.measurement](**suggestion.design)


def with_functions(study: uk.Study) -> uk.Study:
    for name, function in VALUE.items():
        study.measures(name)(function)
    return study


def advance(study: uk.Study, count: int) -> None:
    for _ in range(count):
        suggestion = study.ask()
        study.tell(suggestion, value_of(suggestion))


def begun(study: uk.Study, *, budget: float, slots: int) -> uk.running.Driver:
    """A run that was begun, for whoever wants to drive it."""
    limits = uk.running.limits_of(
        study, budget=budget, evaluations=None, wall_time=None, slots=slots, trials=3, confirm=None, until=None
    )
    return uk.running.begin(study, limits, until=None, progress=False, may_await=False)


@pytest.fixture
def problem() -> uk.Problem:
    return beam()


@pytest.fixture
def study(problem) -> uk.Study:
    return uk.Study.open(None, problem)


@pytest.fixture
def told(study) -> uk.Study:
    """A study with values, past its initial designs."""
    study.add(
        [
            {"root": r, "tip": t, "mass": mass_of(r, t), "deflection": deflection_of(r, t)}
            for r, t in [(0.11, 0.002), (0.13, 0.05), (0.15, 0.01), (0.17, 0.08), (0.12, 0.02)]
        ]
    )
    advance(study, 12)
    return study


@pytest.fixture
def postgres() -> str:
    url = os.environ.get("UNYOKE_TEST_POSTGRES")
    if not url:
        pytest.skip("no PostgreSQL: cargo xtask postgres ...")
    return f"{url}{'&' if '?' in url else '?'}study=python-{uuid.uuid4().hex}"


class RustStudy:
    """A study in Rust, without Python: the example `steps` of unyoke-view. It begins as `like` did."""

    def __init__(self, steps: str, like: uk.Study) -> None:
        self.process = subprocess.Popen([steps], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        beginning = {"problem": like.problem._written(), "config": like._config(), "seed": like.seed}
        self.write(json.dumps(beginning))

    def write(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self) -> tuple[dict, float]:
        """The suggestion, and the seconds that it took."""
        self.write("ask")
        step = json.loads(self.process.stdout.readline())
        return step["suggestion"], step["seconds"]

    def tell(self, value: float) -> None:
        self.write(repr(value))

    def __enter__(self) -> "RustStudy":
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        assert self.process.wait() == 0


@pytest.fixture
def steps() -> str:
    path = os.environ.get("UNYOKE_TEST_STEPS")
    if not path:
        pytest.skip("the example is built by cargo xtask python")
    return path
