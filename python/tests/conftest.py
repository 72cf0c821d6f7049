"""What tests share: a beam with a cheap mass and an expensive deflection."""

import os
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
