"""Data frames in and out, ragged; data of neighbouring systems."""

import math
import types

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import unyoke as uk
from unyoke.importers import from_ax, from_baybe, from_optuna
from conftest import beam, mixed

COLUMNS = {
    "root": [0.11, 0.13, 0.15],
    "tip": [0.002, 0.05, 0.01],
    "mass": [4.5, None, 6.4],
    "mass.sd": [0.1, None, None],
    "deflection": [None, 0.4, None],
}


def frames():
    yield "rows", [dict(zip(COLUMNS, row)) for row in zip(*COLUMNS.values())]
    yield "columns", COLUMNS
    yield "pandas", pd.DataFrame(COLUMNS)
    yield "pandas, nullable", pd.DataFrame(COLUMNS).convert_dtypes()
    yield "polars", pl.DataFrame(COLUMNS)
    yield "polars, NaN", pl.DataFrame(COLUMNS).fill_null(float("nan"))
    yield "polars, lazy", pl.LazyFrame(COLUMNS)
    yield "polars, decimal", pl.DataFrame(COLUMNS).with_columns(pl.all().cast(pl.Decimal(scale=6)))
    yield "pyarrow", pa.table(COLUMNS)
    yield "pyarrow, a batch", pa.RecordBatch.from_pydict(COLUMNS)
    yield "pyarrow, a reader", pa.table(COLUMNS).to_reader()
    yield "Arrow of pandas", pd.DataFrame(COLUMNS, dtype="float64[pyarrow]")
    yield "without a column", pd.DataFrame(COLUMNS).assign(extra=1).drop(columns="extra")


@pytest.mark.parametrize("data", [f[1] for f in frames()], ids=[f[0] for f in frames()])
def test_ragged_data_of_every_kind_is_the_same(data):
    study = uk.Study.open(None, beam())
    assert study.add(data) == 3
    if not isinstance(data, pa.RecordBatchReader):  # which can be read once
        assert study.add(data) == 0, "what is there already is left out"
    evaluations = study._evaluations()
    assert [list(e["values"]) for e in evaluations] == [["mass"], ["deflection"], ["mass"]]
    assert evaluations[0]["values"]["mass"] == {"value": 4.5, "sd": 0.1}
    assert study.spent == 0


def test_all_rows_or_none(study):
    bad = [{"root": 0.1, "tip": 0.01, "mass": 1.0}, {"root": "x", "tip": 0.01}, {"root": 0.1, "tip": None}]
    with pytest.raises(uk.DataError) as raised:
        study.add(bad)
    assert "row 1" in str(raised.value) and "row 2" in str(raised.value)
    assert study._evaluations() == []


def test_columns_that_are_something_else_may_be_ignored(study):
    frame = pd.DataFrame(COLUMNS).assign(operator="ann")
    with pytest.raises(uk.DataError, match="operator"):
        study.add(frame)
    assert study.add(frame, ignore_others=True) == 3


def test_types_of_numpy_are_numbers(study):
    study.add({"root": np.array([0.11, 0.12]), "tip": np.array([0.01, 0.02], dtype=np.float32),
               "mass": np.array([1, 2])})
    assert [e["values"]["mass"]["value"] for e in study._evaluations()] == [1.0, 2.0]
    mixed_study = uk.Study.open(None, mixed())
    row = {"root": np.float64(0.11), "layers": np.int64(3), "material": "oak", "stress": np.float32(3)}
    assert mixed_study.add(pd.DataFrame([row])) == 1
    assert mixed_study._evaluations()[0]["design"] == {"root": 0.11, "layers": 3, "material": "oak"}


def test_frames_come_out_long_and_wide(told):
    long = told.evaluations()
    assert isinstance(long, pd.DataFrame) and len(long) == len(told._evaluations())
    assert {"evaluation", "measurement", "status", "cost", "root", "tip", "mass"} <= set(long.columns)
    wide = told.designs()
    assert set(wide.columns) == {"root", "tip", "mass", "deflection"}
    assert wide["mass"].notna().sum() + wide["deflection"].notna().sum() == sum(
        len(e["values"]) for e in told._evaluations()
    )
    as_polars = told.designs("polars")
    assert isinstance(as_polars, pl.DataFrame) and as_polars.shape == wide.shape
    front = told.front(5).frame()
    assert len(front) == len(told.front(5)) and "mass.sd" in front.columns
    # What comes out goes in again.
    again = uk.Study.open(None, beam())
    assert again.add(wide) == again.add(as_polars) + sum(len(e["values"]) for e in told._evaluations())


CATEGORIES = ["steel", "oak"]


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(CATEGORIES)], ids=str)
def test_choices_of_polars_are_texts(kind):
    study = uk.Study.open(None, mixed())
    frame = pl.DataFrame(
        {"root": [0.11, 0.12], "layers": [3, 4], "material": CATEGORIES, "stress": [None, 80], "mass": [1, None]}
    ).with_columns(pl.col("material").cast(kind), pl.col("layers").cast(pl.UInt8))
    assert study.add(frame) == 2
    first, second = study._evaluations()
    assert first["design"] == {"root": 0.11, "layers": 3, "material": "steel"}
    assert second["values"] == {"stress": {"value": 80.0, "sd": None}} and second["design"]["material"] == "oak"


def test_polars_comes_out_with_types_and_blanks(told):
    study = uk.Study.open(None, mixed())
    study.add([{"root": 0.11, "layers": 3, "material": "oak", "stress": 3.5}])
    wide = study.designs("polars")
    assert wide.schema == {
        "root": pl.Float64, "layers": pl.Int64, "material": pl.String, "mass": pl.Null,
        "deflection": pl.Null, "stress": pl.Float64,
    }
    # As pandas has it, with null in the place of NaN.
    long = told.evaluations("polars")
    assert long.columns == list(told.evaluations().columns)
    assert long["mass"].null_count() == int(told.evaluations()["mass"].isna().sum()) > 0
    front = told.front(5).frame("polars")
    assert isinstance(front, pl.DataFrame) and front.columns == list(told.front(5).frame().columns)


def test_predictions_and_scores_take_frames_of_polars(told):
    wide = told.designs("polars")
    mean, sd = told.predict(wide)
    assert mean.shape == sd.shape == (len(wide), 2)
    for same in (told.designs(), wide.lazy(), wide.select("root", "tip").to_numpy(), wide.to_arrow()):
        assert (told.predict(same)[0] == mean).all()
    assert told.score(wide.head(2)) == told.score(told.designs().head(2))


def test_what_polars_cannot_mean_is_told(study):
    frame = pl.DataFrame({"root": [0.11], "tip": [[0.01, 0.02]], "mass": [1.0]})
    with pytest.raises(uk.DataError, match="row 0: .*tip"):
        study.add(frame)
    with pytest.raises(uk.DataError, match='no column for the parameter "tip"'):
        study.add(pl.LazyFrame({"root": [0.11], "mass": [1.0]}))
    assert study.add(pl.DataFrame(schema={"root": pl.Float64, "tip": pl.Float64})) == 0


def test_replicates_are_data(study):
    row = {"root": 0.11, "tip": 0.01, "mass": 1.0}
    assert study.add([row, row]) == 2
    assert len(study.designs("rows")) == 2


def trial(state, params, values, attributes=None):
    state = types.SimpleNamespace(name=state)
    return types.SimpleNamespace(state=state, params=params, values=values, user_attrs=attributes or {})


def test_trials_of_optuna():
    trials = [
        trial("COMPLETE", {"root": 0.11, "tip": 0.01}, [4.0, 0.5]),
        trial("FAIL", {"root": 0.12, "tip": 0.01}, None),
        trial("COMPLETE", {"root": 0.13, "tip": 0.02}, [5.0, 0.4]),
    ]
    optuna = types.SimpleNamespace(get_trials=lambda deepcopy: trials, metric_names=None)
    study = uk.Study.open(None, beam())
    with pytest.raises(uk.DataError, match="name them"):
        from_optuna(optuna)
    assert study.add(from_optuna(optuna, ["mass", "deflection"])) == 4


def test_the_frame_of_ax():
    frame = pd.DataFrame(
        {
            "trial_index": [0, 1, 2], "arm_name": ["0_0", "1_0", "2_0"],
            "trial_status": ["COMPLETED", "FAILED", "COMPLETED"], "generation_node": ["Sobol"] * 3,
            "mass": [4.0, 9.0, math.nan], "mass_sem": [0.1, 0.1, math.nan],
            "deflection": [math.nan, 1.0, 0.3], "root": [0.11, 0.12, 0.13], "tip": [0.01, 0.02, 0.03],
        }
    )
    study = uk.Study.open(None, beam())
    assert study.add(from_ax(frame, study.problem)) == 2
    assert study._evaluations()[0]["values"]["mass"] == {"value": 4.0, "sd": 0.1}


def test_the_frame_of_baybe():
    frame = pd.DataFrame(
        {"root": [0.11, 0.12], "tip": [0.01, 0.02], "mass": [4.0, math.nan],
         "deflection": [0.5, 0.3], "BatchNr": [1, 1], "FitNr": [math.nan, 1.0]}
    )
    study = uk.Study.open(None, beam())
    assert study.add(from_baybe(frame, study.problem)) == 3
