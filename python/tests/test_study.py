"""Ask, tell and look, on memory, files and PostgreSQL."""

import json
import math
import os
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

import unyoke as uk
from conftest import advance, beam, mixed, value_of


def test_a_study_is_asked_and_told(study):
    suggestion = study.ask()
    assert suggestion.measurement in ("mass", "deflection")
    assert list(suggestion.design) == ["root", "tip"]
    assert suggestion.cost in (1.0, 10.0) and suggestion.outputs == [suggestion.measurement]
    study.tell(suggestion, value_of(suggestion))
    assert study.spent == study.committed == suggestion.cost
    rows = study.evaluations("rows")
    assert rows[0]["status"] == "completed" and rows[0]["origin"] == "initial"


def test_suggestions_have_reasons_once_there_are_models(told):
    suggestion = told.ask()
    assert suggestion.gain_per_cost > 0 and len(suggestion.options) == 2
    assert "▶" in suggestion.why and "break-even cost" in suggestion.why
    assert "% of the front's range" in suggestion.why
    assert suggestion.as_dict()["evaluation"] == suggestion.evaluation
    assert f"evaluation {suggestion.evaluation}" in suggestion._repr_html_()


def test_looking_asks_for_nothing(told):
    before = told.committed
    explanation = told.explain()
    assert explanation.possible and {m["output"] for m in explanation.models} == {"mass", "deflection"}
    assert told.committed == before and not told.pending()
    assert told.ask().design == explanation.design


def test_values_come_with_errors_costs_and_other_designs():
    study = uk.Study.open(None, mixed())
    told = 0
    while told < 2:
        suggestion = study.ask()
        if suggestion.measurement == "mass":
            study.tell(suggestion, (3.75, 0.1), cost=1.5)
        else:
            study.tell(
                suggestion, {"deflection": (3.7, 0.2), "stress": 180}, design={"root": 0.11}
            )
            told += 1
    rows = {row["measurement"]: row for row in study.evaluations("rows")}
    assert rows["fem"]["root"] == 0.11 and rows["fem"]["deflection.sd"] == 0.2
    if "mass" in rows:
        assert rows["mass"]["spent"] == 1.5


def test_an_output_may_be_missing_for_a_reason():
    study = uk.Study.open(None, mixed())
    while (suggestion := study.ask()).measurement != "fem":
        study.tell(suggestion, 1.0)
    with pytest.raises(uk.DataError, match="no value of stress"):
        study.tell(suggestion, {"deflection": 3.7})
    study.tell(suggestion, {"deflection": 3.7}, missing="the gauge broke")
    row = study.evaluations("rows")[suggestion.evaluation]
    assert row["stress"] is None and row["reason"] == "the gauge broke"


def test_failures_withdrawals_and_retries(study):
    first, second, third = study.ask_many(3)
    study.fail(first, "no mesh", cost=0.5)
    study.withdraw(second)
    assert study.spent == 0.5
    with pytest.raises(uk.StateError, match="already recorded as failed"):
        study.tell(first, 1.0)
    study.tell(first, 2.0, replace=True)
    study.fail(third, "no licence")
    study.retry(third)
    assert [s.evaluation for s in study.pending()] == [third.evaluation]
    study.tell(third.evaluation, 4.0)
    statuses = [row["status"] for row in study.evaluations("rows")]
    assert statuses == ["completed", "withdrawn", "completed"]


def test_values_are_corrected_and_retracted(study):
    first, second, third = study.ask_many(3)
    study.tell(first, 35.0)
    study.correct(first, (3.5, 0.1), cost=0.5)
    study.tell(second, 1.0)
    study.retract(second, "the sensor was loose")
    study.fail(third, "no mesh")
    study.correct(third.evaluation, 2.0)
    rows = study.evaluations("rows")
    assert [row["status"] for row in rows] == ["completed", "retracted", "completed"]
    assert rows[0][first.measurement] == 3.5 and rows[0]["spent"] == 0.5
    assert rows[1]["reason"] == "the sensor was loose" and rows[1]["spent"] == second.cost
    study.correct(third, missing="no mesh after all")
    assert study.evaluations("rows")[2]["status"] == "failed"
    assert study.spent == 0.5 + second.cost + third.cost
    with pytest.raises(uk.StateError, match="already recorded as retracted"):
        study.retract(second)
    pending = study.ask()
    with pytest.raises(uk.StateError, match="pending: tell its result first"):
        study.correct(pending, 1.0)
    with pytest.raises(uk.DataError, match="there is no evaluation 99"):
        study.correct(99, 1.0)
    with pytest.raises(uk.DataError, match="no value was given"):
        study.correct(first)


def test_one_of_several_outputs_is_corrected():
    study = uk.Study.open(None, mixed())
    while (suggestion := study.ask()).measurement != "fem":
        study.tell(suggestion, 1.0)
    study.tell(suggestion, {"deflection": 37.0, "stress": 180.0})
    study.correct(suggestion, {"deflection": (3.7, 0.2)})
    row = study.evaluations("rows")[suggestion.evaluation]
    assert (row["deflection"], row["stress"]) == (3.7, 180.0)
    with pytest.raises(uk.DataError, match="all others must be given"):
        study.correct(suggestion, {"deflection": None})
    study.correct(suggestion, {"stress": 170.0}, missing="the laser was off")
    row = study.evaluations("rows")[suggestion.evaluation]
    assert (row["deflection"], row["stress"]) == (None, 170.0)


def test_the_front_and_the_best_design(told):
    front = told.front(8)
    assert 1 < len(front) <= 8
    masses = [point.mean["mass"] for point in front]
    assert masses == sorted(masses)
    light = front.best({"mass": 1})
    stiff = told.best({"deflection": 1})
    assert light.mean["mass"] <= masses[0] + 1e-9
    assert stiff.mean["deflection"] < light.mean["deflection"]
    assert "ForecastView" not in repr(front[0]) and "±" in repr(front[0])
    assert front.as_dict()["parameters"] == ["root", "tip"]


def test_predictions_are_arrays(told):
    designs = np.array([[0.12, 0.01], [0.15, 0.05], [0.17, 0.002]])
    mean, deviation = told.predict(designs)
    assert mean.shape == deviation.shape == (3, 2) and mean.dtype == np.float64
    assert np.allclose(mean[:, 0], 40 * designs.sum(axis=1), rtol=0.05)
    assert (deviation >= 0).all()
    one, _ = told.predict({"root": 0.12, "tip": 0.01})
    assert (one[0] == mean[0]).all()
    rows, _ = told.predict([{"root": r, "tip": t} for r, t in designs])
    assert (rows == mean).all()
    assert told.predict(np.zeros((0, 2)))[0].shape == (0, 2)


def test_designs_are_scored(told):
    scored = told.score([{"root": 0.12, "tip": 0.01}, {"root": 0.18, "tip": 0.1}])
    assert len(scored) == 2 and {"design", "outputs", "options"} <= set(scored[0])
    assert all(option["gain"] >= 0 for option in scored[0]["options"])


def test_costs_and_wishes_may_change(told):
    told.set_cost("mass", 2.5)
    assert told.problem.measurements["mass"].cost == 2.5
    told.amend(preference={"importance": ["deflection >= 2 * mass"]})
    told.amend(enough={"mass": 5.0})
    assert told.problem.objectives["mass"].enough == 5.0
    with pytest.raises(uk.ProblemError):
        told.amend(preference={"importance": ["deflection >= 2 * drag"]})


def test_a_report_is_a_page(told, tmp_path):
    path = tmp_path / "beam.html"
    page = told.report(path)
    assert page.lstrip().startswith("<!DOCTYPE html>") and path.read_text() == page


def test_a_file_is_opened_again(tmp_path, problem):
    path = tmp_path / "beam.db"
    with uk.Study.open(path, problem, seed=3) as study:
        advance(study, 4)
        spent = study.spent
    with pytest.raises(uk.StateError, match="closed"):
        study.ask()
    again = uk.Study.open(path)
    assert (again.spent, again.seed, again.problem) == (spent, 3, problem)
    both = uk.Study.open(path, problem)
    advance(again, 1)
    assert both.spent == again.spent, "what others write is seen"


def test_a_journal_file_is_opened_again_and_written_by_one_process(tmp_path, problem):
    place = f"file:{tmp_path / 'beam.journal'}"
    with uk.Study.open(place, problem, seed=3) as study:
        advance(study, 4)
        spent = study.spent
    again = uk.Study.open(place)
    assert (again.spent, again.seed, again.store) == (spent, 3, place)
    both = uk.Study.open(place, problem)
    advance(again, 1)
    assert both.spent == again.spent, "what others write is seen"
    script = f"""
import unyoke as uk
study = uk.Study.open({place!r})
print(study.spent)
try:
    study.ask()
except uk.StoreError as error:
    print(error)
"""
    other = [sys.executable, "-P", "-c", script]
    spent, refusal = subprocess.check_output(other, text=True).splitlines()
    assert float(spent) == again.spent
    assert f"in use by process {os.getpid()} (" in refusal
    again.close()
    both.close()
    assert subprocess.check_output(other, text=True).splitlines() == [spent]


def test_postgres_keeps_studies(postgres, problem):
    with uk.Study.open(postgres, problem) as study:
        advance(study, 3)
        rows = study.evaluations("rows")
    again = uk.Study.open(postgres)
    assert again.evaluations("rows") == rows and "study=" in again.store
    advance(again, 1)


def test_changed_costs_count_and_other_problems_are_refused(tmp_path, problem):
    path = tmp_path / "beam.db"
    uk.Study.open(path, problem).close()
    expensive = uk.Problem(problem.parameters, {**problem.objectives, "mass": uk.Minimise(cost=3)})
    study = uk.Study.open(path, expensive)
    assert study.problem.measurements["mass"].cost == 3
    other = uk.Problem({**problem.parameters, "tip": uk.Real(0, 1)}, problem.objectives)
    with pytest.raises(uk.ProblemError, match='parameter "tip" is not the same'):
        uk.Study.open(path, other)


def test_a_problem_comes_back_as_it_went_in():
    for problem in (beam(), mixed()):
        assert uk.Study.open(None, problem).problem == problem
    rich = uk.Problem(
        parameters={"x": uk.Real(0, 1, digits=2), "n": uk.Int(1, 64, log=True),
                    "size": uk.Choice("S", "M", ordered=True)},
        objectives={"f": uk.Maximise(cost="1 + n", noise="unknown", log=True, enough=4.0),
                    "g": uk.Minimise(formula="x * n")},
        constraints={"c": uk.AtLeast(1.5, cost={"learn": "time", "guess": 2.0})},
    )
    back = uk.Study.open(None, rich).problem
    assert back.parameters["x"].step == 0.01 and back.objectives["f"].noise == "unknown"
    assert back.constraints["c"].limit == 1.5 and back.objectives["g"].formula == "x * n"
    assert back.objectives["f"].enough == 4.0


def test_a_budget_limits_what_is_asked_for(problem):
    study = uk.Study.open(None, problem, budget=14)
    for _ in range(20):
        try:
            suggestion = study.ask()
        except uk.Exhausted as error:
            assert "budget" in str(error)
            break
        study.tell(suggestion, value_of(suggestion))
    else:
        pytest.fail("it went on")
    assert study.spent <= 14


def test_the_status_is_the_view_of_the_program(told):
    told.ask()
    status = told.status()
    assert status["store"] == "memory" and len(status["pending"]) == 1
    assert status["pending"][0]["owner"] == "by hand"
    assert {m["name"] for m in status["measurements"]} == {"mass", "deflection"}
    assert math.isclose(sum(m["spent"] for m in status["measurements"]), told.spent)


def test_every_record_says_who_and_when(tmp_path, monkeypatch):
    monkeypatch.setenv("UNYOKE_USER", "Ann")
    began = int(time.time())
    study = uk.Study.open(tmp_path / "beam.db", beam())
    suggestion = study.ask()
    study.tell(suggestion, value_of(suggestion))
    with sqlite3.connect(tmp_path / "beam.db") as database:
        rows = database.execute("SELECT record FROM journal ORDER BY position").fetchall()
    records = [json.loads(text) for (text,) in rows]
    assert [record["event"] for record in records] == ["created", "asked", "measured"]
    assert all(record["by"] == "Ann" for record in records)
    assert all(began <= record["at"] <= time.time() for record in records)
