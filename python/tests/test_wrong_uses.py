"""Wrong uses: a clear exception each, and the study is as it was."""

import copy
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import unyoke as uk
from conftest import beam, mass_of, mixed, plain, with_functions

GOOD = {"root": 0.12, "tip": 0.01}

# What is done with a study that has a pending evaluation, the exception, and a part of its message.
WRONG_CALLS = [
    ("a text as a value", lambda s, p: s.tell(p, "3.7"), TypeError, "must be a number, not a str"),
    ("None as a value", lambda s, p: s.tell(p, None), TypeError, "not None"),
    ("NaN as a value", lambda s, p: s.tell(p, float("nan")), uk.DataError, "finite"),
    ("infinity as a value", lambda s, p: s.tell(p, np.inf), uk.DataError, "finite"),
    ("True as a value", lambda s, p: s.tell(p, True), TypeError, "not a bool"),
    ("a list as a value", lambda s, p: s.tell(p, [1.0]), TypeError, "not a list"),
    ("an array as a value", lambda s, p: s.tell(p, np.ones(3)), TypeError, "ndarray"),
    ("a complex value", lambda s, p: s.tell(p, 1j), TypeError, "complex"),
    ("three numbers", lambda s, p: s.tell(p, (1.0, 0.1, 2.0)), TypeError, "standard error"),
    ("a negative error", lambda s, p: s.tell(p, (1.0, -0.1)), uk.DataError, "negative"),
    ("an unknown output", lambda s, p: s.tell(p, {"masss": 1.0}), uk.DataError, "not measured here"),
    ("no output", lambda s, p: s.tell(p, {}), uk.DataError, "no value of"),
    ("a negative cost", lambda s, p: s.tell(p, 1.0, cost=-1), uk.Error, "cost"),
    ("an unknown parameter", lambda s, p: s.tell(p, 1.0, design={"rot": 1}), uk.DataError, "did you mean"),
    ("an evaluation that is not", lambda s, p: s.tell(99, 1.0), uk.DataError, "no evaluation 99"),
    ("a negative evaluation", lambda s, p: s.withdraw(-1), uk.DataError, "no evaluation -1"),
    ("a text as an evaluation", lambda s, p: s.fail("0", "x"), TypeError, "not a str"),
    ("a float as an evaluation", lambda s, p: s.fail(0.0, "x"), TypeError, "not a float"),
    ("a reason that is no text", lambda s, p: s.fail(p, 7), TypeError, "must be a text"),
    ("a retry of what is pending", lambda s, p: s.retry(p), uk.Error, "pending"),
    ("a frame with a bad column", lambda s, p: s.add([{**GOOD, "mas": 1}]), uk.DataError, 'did you mean "mass"'),
    ("a frame without a parameter", lambda s, p: s.add([{"root": 0.1, "mass": 1}]), uk.DataError, '"tip"'),
    ("a blank parameter", lambda s, p: s.add([{**GOOD, "tip": None, "mass": 1}]), uk.DataError, "row 0: tip is blank"),
    ("a text in a frame", lambda s, p: s.add([{**GOOD, "mass": "heavy"}]), uk.DataError, "row 0: mass must be a number"),
    ("an error without a value", lambda s, p: s.add([{**GOOD, "mass.sd": 1}]), uk.DataError, "mass has none"),
    ("columns of different lengths", lambda s, p: s.add({"root": [1], "tip": [1, 2]}), uk.DataError, "lengths"),
    ("a number as a frame", lambda s, p: s.add(3), TypeError, "data frame"),
    ("a text as a frame", lambda s, p: s.add("old.csv"), TypeError, "data frame"),
    ("an array of wrong width", lambda s, p: s.predict(np.zeros((2, 3))), uk.DataError, "2 columns"),
    ("no value to predict from", lambda s, p: s.predict([GOOD]), uk.Error, "no values yet"),
    ("a front without values", lambda s, p: s.front(), uk.Error, "no values yet"),
    ("a front of nothing", lambda s, p: s.front(0), uk.DataError, "at least 1"),
    ("weights of an unknown objective", lambda s, p: s.best({"mas": 1}), uk.DataError, "did you mean"),
    ("weights in a list", lambda s, p: s.best([0.5, 0.5]), TypeError, "must be a dict"),
    ("a cost of nothing", lambda s, p: s.set_cost("mass", 0), uk.Error, "positive"),
    ("a cost of an unknown measurement", lambda s, p: s.set_cost("mas", 1), uk.DataError, "did you mean"),
    ("a formula that is none", lambda s, p: s.set_cost("mass", "root +"), uk.Error, "root +"),
    ("an unknown measurement", lambda s, p: s.measures("mas"), uk.DataError, "did you mean"),
    ("a function without a parameter", lambda s, p: s.measures("mass")(lambda root: 1), TypeError, "tip"),
    ("no function at all", lambda s, p: s.measures("mass")(3), TypeError, "a function"),
    ("no slots", lambda s, p: s.measures("mass", slots=0), uk.DataError, "at least 1"),
    ("a run without functions", lambda s, p: s.run(budget=9), uk.RunError, "no function measures mass"),
    ("pickling", lambda s, p: pickle.dumps(s), TypeError, "cannot be pickled"),
    ("copying", lambda s, p: copy.copy(s), TypeError, "cannot be pickled or copied"),
    ("a deep copy", lambda s, p: copy.deepcopy(s), TypeError, "cannot be pickled or copied"),
    ("an unknown frame", lambda s, p: s.evaluations("numpy"), uk.DataError, "only"),
    ("a wish that is none", lambda s, p: s.amend(preference={"utilty": 1}), uk.ProblemError, "utilty"),
    ("a count that is no number", lambda s, p: s.ask_many("3"), TypeError, "number"),
]


@pytest.mark.parametrize("what, call, error, words", WRONG_CALLS, ids=[w[0] for w in WRONG_CALLS])
def test_a_wrong_call_is_refused_and_changes_nothing(what, call, error, words):
    study = uk.Study.open(None, beam())
    pending = study.ask()
    before = (study._evaluations(), study.spent, study._handle.position())
    with pytest.raises(error) as raised:
        call(study, pending)
    assert words in str(raised.value), str(raised.value)
    assert (study._evaluations(), study.spent, study._handle.position()) == before
    study.tell(pending, 1.0)


WRONG_PROBLEMS = [
    ("bounds that are swapped", lambda: uk.Problem({"x": uk.Real(2, 1)}, {"f": uk.Minimise(cost=1)}), uk.ProblemError, "parameters['x'].low"),
    ("a bound that is a text", lambda: uk.Problem({"x": uk.Real("0", 1)}, {"f": uk.Minimise(cost=1)}), TypeError, "x: low"),
    ("a bound that is NaN", lambda: uk.Problem({"x": uk.Real(float("nan"), 1)}, {"f": uk.Minimise(cost=1)}), uk.DataError, "finite"),
    ("a log scale from zero", lambda: uk.Problem({"x": uk.Real(0, 1, log=True)}, {"f": uk.Minimise(cost=1)}), uk.ProblemError, "parameters['x']"),
    ("no parameters", lambda: uk.Problem({}, {"f": uk.Minimise(cost=1)}), uk.ProblemError, "parameters"),
    ("no objectives", lambda: uk.Problem({"x": uk.Real(0, 1)}, {}), uk.ProblemError, ""),
    ("no cost", lambda: uk.Problem({"x": uk.Real(0, 1)}, {"f": uk.Minimise()}), uk.ProblemError, "f needs a cost"),
    ("a class, no instance", lambda: uk.Problem({"x": uk.Real(0, 1)}, {"f": uk.Minimise}), TypeError, "not an instance"),
    ("a tuple as a parameter", lambda: uk.Problem({"x": (0, 1)}, {"f": uk.Minimise(cost=1)}), TypeError, "Real or Int or Choice"),
    ("one choice", lambda: uk.Problem({"x": uk.Choice("a", "a")}, {"f": uk.Minimise(cost=1)}), uk.ProblemError, "parameters['x']"),
    ("choices in a list", lambda: uk.Choice(["a", "b"]), TypeError, "one by one"),
    ("an unknown output", lambda: uk.Problem({"x": uk.Real(0, 1)}, {"f": uk.Minimise(cost=1)}, measurements={"m": uk.Measurement(["g"], 1)}), uk.ProblemError, "g"),
    ("a formula with a cost", lambda: uk.Problem({"x": uk.Real(0, 1)}, {"f": uk.Minimise(cost=1, formula="x")}), uk.ProblemError, "formula"),
    ("a limit that leaves nothing", lambda: uk.Problem({"x": uk.Real(0, 1)}, {"f": uk.Minimise(cost=1)}, limits={"l": "x >= 2"}), uk.ProblemError, ""),
    ("noise in words", lambda: uk.Problem({"x": uk.Real(0, 1)}, {"f": uk.Minimise(cost=1, noise="loud")}), uk.ProblemError, "loud"),
    ("an unknown algorithm", lambda: uk.Study.open(None, beam(), algorithm="c-mogk"), uk.Error, "c-mogk"),
    ("a seed that is a text", lambda: uk.Study.open(None, beam(), seed="1"), TypeError, "seed"),
    ("a negative seed", lambda: uk.Study.open(None, beam(), seed=-1), uk.DataError, "seed"),
    ("an unknown setting", lambda: uk.Study.open(None, beam(), engine={"wieghts": 3}), uk.Error, "wieghts"),
    ("a problem that is a dict", lambda: uk.Study.open(None, {"x": 1}), TypeError, "Problem"),
    ("memory without a problem", lambda: uk.Study.open(), uk.ProblemError, "needs a problem"),
    ("a store that is a number", lambda: uk.Study.open(3, beam()), TypeError, "store"),
    ("a study that is not there", lambda: uk.Study.open("/tmp/no/such/folder/x.db"), uk.StoreError, ""),
    ("a study file that is not there", lambda: uk.Study.open("/tmp/no-such-study.toml"), uk.StoreError, "no-such-study"),
    ("a URL of something else", lambda: uk.Study.open("mysql://x", beam()), uk.StoreError, "postgres"),
    ("a study by its class", lambda: uk.Study(), TypeError, "Study.open"),
    ("a budget of nothing", lambda: uk.Study.open(None, beam(), budget=0), uk.DataError, "positive"),
]


@pytest.mark.parametrize("what, make, error, words", WRONG_PROBLEMS, ids=[w[0] for w in WRONG_PROBLEMS])
def test_a_wrong_problem_or_place_is_refused(what, make, error, words):
    with pytest.raises(error) as raised:
        make()
    assert words in str(raised.value), str(raised.value)


WRONG_RETURNS = [
    ("a text", lambda **d: "heavy"),
    ("None", lambda **d: None),
    ("three numbers", lambda **d: (1, 2, 3)),
    ("a list", lambda **d: [1.0]),
    ("a dict of something else", lambda **d: {"weight": 1.0}),
    ("an empty dict", lambda **d: {}),
    ("an object", lambda **d: object()),
]


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor], ids=["this thread", "threads"])
@pytest.mark.parametrize("what, function", WRONG_RETURNS, ids=[w[0] for w in WRONG_RETURNS])
def test_what_a_function_must_not_return_ends_the_run_and_leaves_the_evaluation(what, function, executor):
    study = with_functions(uk.Study.open(None, plain(), algorithm="sobol"))
    study.measures("mass")(function)
    with pytest.raises(uk.RunError, match="the function for mass returned"):
        if executor is None:
            study.run(budget=40)
        else:
            with executor(2) as pool:
                study.run(budget=40, executor=pool)
    assert not [e for e in study._evaluations() if e["status"] == "failed"]
    study.measures("mass")(mass_of)
    assert study.run(budget=40).resumed >= 1
    assert not study.pending() and study.spent <= 40


def test_a_dict_without_all_outputs_is_refused():
    study = uk.Study.open(None, mixed())
    study.measures("mass")(lambda **d: 1.0)
    study.measures("fem")(lambda **d: {"deflection": 1.0})
    with pytest.raises(uk.RunError, match="no value of stress"):
        study.run(budget=40)


def test_a_study_is_not_closed_while_it_runs(study):
    seen = []

    def closing(root, tip):
        with pytest.raises(uk.StateError, match="being run"):
            study.close()
        with pytest.raises(uk.StateError, match="already"):
            study.run(budget=20)
        seen.append(1)
        return 1.0

    with_functions(study).measures("mass")(closing)
    study.run(evaluations=3)
    assert seen


def test_an_executor_must_be_one(study):
    with_functions(study)
    with pytest.raises(TypeError, match="Executor"):
        study.run(budget=20, executor=4)
    study.measures("mass")(lambda root, tip: 1.0)
    with ProcessPoolExecutor(1) as pool, pytest.raises(uk.RunError, match="top level"):
        study.run(budget=20, executor=pool)


def test_a_run_needs_an_end(study):
    with pytest.raises(uk.RunError, match="what may be spent"):
        with_functions(study).run()


def test_a_pool_that_was_shut_down_is_an_error_and_loses_nothing(study):
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(uk.RunError, match="executor"):
        with_functions(study).run(budget=20, executor=pool)
    assert study.run(budget=20).resumed == 1


def test_two_threads_use_one_study(told):
    errors = []

    def work():
        try:
            for _ in range(3):
                told.tell(told.ask(), 1.0)
                told.front(3)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    numbers = [e["evaluation"] for e in told._evaluations()]
    assert numbers == list(range(len(numbers)))
