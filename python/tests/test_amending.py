"""Studies that go on with another problem."""

import threading

import pytest

import unyoke as uk
from conftest import advance, beam, mass_of


def changed(**parameters):
    known = {"root": uk.Real(0.10, 0.18), "tip": uk.Real(1e-3, 0.1, log=True)}
    return uk.Problem(
        parameters={**known, **parameters},
        objectives={"mass": uk.Minimise(cost=1), "deflection": uk.Minimise(cost=10)},
    )


def test_bounds_may_change_and_nothing_is_lost(tmp_path):
    study = uk.Study.open(tmp_path / "beam.db", beam())
    advance(study, 4)
    before, wider = study._evaluations(), changed(root=uk.Real(0.05, 0.2))
    with pytest.raises(uk.ProblemError, match=r"study\.amend\(problem\)"):
        uk.Study.open(tmp_path / "beam.db", wider)
    assert study.amend(wider) == ['parameter "root" high from 0.18 to 0.2, low from 0.1 to 0.05']
    assert study.problem.parameters["root"] == uk.Real(0.05, 0.2)
    assert study._evaluations() == before
    advance(study, 3)
    # It is the study's own from now on, also where it is opened anew.
    again = uk.Study.open(tmp_path / "beam.db", wider)
    assert len(again._evaluations()) == 7 and again.amend(wider) == []


def test_a_new_parameter_has_the_value_that_designs_had(study):
    advance(study, 4)
    wanted = changed(layers=uk.Int(1, 8))
    with pytest.raises(uk.ProblemError, match="layers"):
        study.amend(wanted)
    assert study.amend(wanted, was={"layers": 2}) == ['parameter "layers" is new']
    assert all(e["design"]["layers"] == 2 for e in study._evaluations())
    assert "layers" in study.ask().design


def test_objectives_costs_and_settings_may_change(study):
    advance(study, 4)
    problem = uk.Problem(
        parameters=beam().parameters,
        objectives={
            "mass": uk.Minimise(cost=2, enough=5),
            "deflection": uk.Minimise(cost=10, noise=0.1),
            "noise": uk.Minimise(cost=4),
        },
    )
    changes = study.amend(problem, algorithm="sobol", preference={"importance": ["mass >= deflection"]})
    assert 'objective "noise" is new' in changes and 'measurement "noise" is new' in changes
    assert any(change.startswith("setting algorithm") for change in changes)
    assert study.problem.measurements["mass"].cost == 2
    assert study.problem.objectives["mass"].enough == 5
    assert study.algorithm == "sobol"

    def noise(root, tip):
        return root - tip

    functions = {"mass": mass_of, "deflection": lambda root, tip: 1.0, "noise": noise}
    study.run(functions, evaluations=6)
    assert "noise" in {e["measurement"] for e in study._evaluations()}


def test_what_cannot_be_amended_changes_nothing(study):
    advance(study, 4)
    position = study._handle.position()
    without = uk.Problem({"root": uk.Real(0.10, 0.18)}, {"mass": uk.Minimise(cost=1)})
    for call in [
        lambda: study.amend(without),
        lambda: study.amend(was={"root": 1}),
        lambda: study.amend(algorithm="best"),
        lambda: study.amend(engine={"wieghts": 3}),
        lambda: study.amend(preference={"importance": ["mass >= drag"]}),
    ]:
        with pytest.raises(uk.Error):
            call()
    with pytest.raises(TypeError):
        study.amend({"root": 1})
    assert study._handle.position() == position


def test_a_study_that_is_being_run_is_not_amended(tmp_path):
    study = uk.Study.open(tmp_path / "beam.db", beam(), algorithm="sobol")
    begun, may_end = threading.Event(), threading.Event()

    def slow(root, tip):
        begun.set()
        may_end.wait(60)
        return 1.0

    run = threading.Thread(target=lambda: study.run({"mass": slow, "deflection": slow}, evaluations=1))
    run.start()
    begun.wait(60)
    try:
        with pytest.raises(uk.StateError, match="the study is running"):
            study.amend(changed(root=uk.Real(0, 1)))
    finally:
        may_end.set()
        run.join()
    assert study.amend(changed(root=uk.Real(0.01, 1)))
