"""Studies of Optuna, Ax and BayBE, made by these, are imported. Ax and BayBE bring PyTorch and are
installed by `cargo xtask python-long` only; their frames as they are today are in test_frames."""

import math

import optuna
import pandas as pd
import pytest

import unyoke as uk
from unyoke.importers import from_ax, from_baybe, from_optuna
from conftest import beam, deflection_of, mass_of, mixed

DESIGNS = [{"root": 0.11, "tip": 0.002}, {"root": 0.13, "tip": 0.05}, {"root": 0.15, "tip": 0.01}]


@pytest.fixture
def theirs():
    """A study of Optuna with trials of every state."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=optuna.samplers.RandomSampler(1))

    def objective(trial):
        design = (trial.suggest_float("root", 0.10, 0.18), trial.suggest_float("tip", 1e-3, 0.1, log=True))
        if trial.number == 3:
            raise ValueError("no mesh")
        return mass_of(*design), deflection_of(*design)

    study.optimize(objective, n_trials=8, catch=(ValueError,))
    study.ask({"root": optuna.distributions.FloatDistribution(0.1, 0.18)})
    return study


def test_completed_trials_of_optuna_are_imported(theirs):
    study = uk.Study.open(None, beam())
    rows = from_optuna(theirs, ["mass", "deflection"])
    assert study.add(rows) == 14 and study.add(rows) == 0
    wide = study.designs("rows")
    best = [trial for trial in theirs.trials if trial.number == 0][0]
    assert wide[0] == {**best.params, "mass": best.values[0], "deflection": best.values[1]}
    assert len(study.front(5)) > 1


def test_metric_names_and_attributes_of_optuna_are_used(theirs):
    theirs.set_metric_names(["mass", "deflection"])
    study = uk.Study.open(None, beam())
    assert study.add(from_optuna(theirs)) == 14
    theirs.add_trial(optuna.trial.create_trial(
        params=DESIGNS[0], values=[4.0, 0.5], user_attrs={"operator": "ann"},
        distributions={name: optuna.distributions.FloatDistribution(0, 1) for name in DESIGNS[0]},
    ))
    with pytest.raises(uk.DataError, match="operator"):
        study.add(from_optuna(theirs))
    assert study.add(from_optuna(theirs), ignore_others=True) == 2


def test_choices_integers_and_one_objective_of_optuna():
    theirs = optuna.create_study(sampler=optuna.samplers.RandomSampler(1))

    def objective(trial):
        trial.suggest_float("root", 0.10, 0.14)
        trial.set_user_attr("stress", float(trial.suggest_int("layers", 1, 8)))
        return 1.0 if trial.suggest_categorical("material", ["steel", "oak"]) == "oak" else 2.0

    theirs.optimize(objective, n_trials=6)
    study = uk.Study.open(None, mixed())
    assert study.add(from_optuna(theirs, ["mass"])) == 12
    assert {type(row["layers"]) for row in study.designs("rows")} == {int}


@pytest.mark.long
def test_a_client_of_ax_is_imported():
    pytest.importorskip("ax")
    from ax.api.client import Client
    from ax.api.configs import RangeParameterConfig

    client = Client()
    client.configure_experiment(parameters=[
        RangeParameterConfig(name="root", parameter_type="float", bounds=(0.10, 0.18)),
        RangeParameterConfig(name="tip", parameter_type="float", bounds=(1e-3, 0.1), scaling="log"),
    ])
    client.configure_optimization(objective="-mass, -deflection")
    results = [{"mass": (4.5, 0.1), "deflection": 0.6}, {"mass": 5.0}, {"deflection": 0.4}]
    for design, values in zip(DESIGNS, results):
        trial = client.attach_trial(parameters=design)
        client.attach_data(trial_index=trial, raw_data=values)
        client.complete_trial(trial_index=trial)
    client.mark_trial_failed(trial_index=client.attach_trial(parameters={"root": 0.12, "tip": 0.03}))
    client.mark_trial_abandoned(trial_index=client.attach_trial(parameters={"root": 0.14, "tip": 0.03}))
    client.attach_trial(parameters={"root": 0.16, "tip": 0.03})

    study = uk.Study.open(None, beam())
    assert study.add(from_ax(client.summarize(), study.problem)) == 4
    rows = [{k: v for k, v in row.items() if v is not None} for row in study.designs("rows")]
    assert rows == [
        {**DESIGNS[0], "mass": 4.5, "deflection": 0.6},
        {**DESIGNS[1], "mass": 5.0},
        {**DESIGNS[2], "deflection": 0.4},
    ]


@pytest.mark.long
def test_a_campaign_of_baybe_is_imported():
    pytest.importorskip("baybe")
    from baybe import Campaign
    from baybe.objectives import ParetoObjective
    from baybe.parameters import CategoricalParameter, NumericalDiscreteParameter
    from baybe.searchspace import SearchSpace
    from baybe.targets import NumericalTarget

    space = SearchSpace.from_product([
        NumericalDiscreteParameter("root", [0.10, 0.12, 0.14]),
        NumericalDiscreteParameter("layers", [1, 2, 3]),
        CategoricalParameter("material", ["steel", "oak"]),
    ])
    targets = [NumericalTarget(name, minimize=True) for name in ("mass", "deflection")]
    campaign = Campaign(space, ParetoObjective(targets))
    campaign.add_measurements(pd.DataFrame({
        "root": [0.10, 0.12, 0.14], "layers": [1, 2, 3], "material": ["steel", "oak", "oak"],
        "mass": [4.0, math.nan, 5.0], "deflection": [0.5, 0.4, 0.2],
    }))
    study = uk.Study.open(None, mixed())
    assert study.add(from_baybe(campaign.measurements, study.problem)) == 5
    assert study.designs("rows")[1] == {
        "root": 0.12, "layers": 2, "material": "oak", "mass": None, "deflection": 0.4, "stress": None,
    }
