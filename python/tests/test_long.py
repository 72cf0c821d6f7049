"""Real Ray, Dask and Optuna, and the figures of docs/python.md. Run by `cargo xtask python-long`."""

import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

import pytest

import unyoke as uk
import unyoke.importers
from conftest import advance, beam, deflection_of, mass_of, plain, with_functions

pytestmark = pytest.mark.long


def median(times):
    return f"{1e3 * statistics.median(times):.3f} ms"


def timed(work, times):
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return found


def test_figure_overhead_of_a_suggestion():
    """With space-filling designs nothing is computed: what is left is the way there and back."""
    for count in (20, 300):
        study = uk.Study.open(None, plain(), algorithm="sobol")
        advance(study, count)
        whole = timed(lambda: study.withdraw(study.ask()), 200)
        alone = timed(study._handle.position, 200)
        print(f"\n{count} values: ask and withdraw {median(whole)}, smallest call {median(alone)}")


def test_figure_threads():
    def study():
        one = uk.Study.open(None, beam())
        advance(one, 30)
        return one

    studies = [study() for _ in range(4)]
    began = time.perf_counter()
    for one in studies:
        one.ask()
    after_another = time.perf_counter() - began
    studies = [study() for _ in range(4)]
    threads = [threading.Thread(target=one.ask) for one in studies]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    at_once = time.perf_counter() - began
    print(f"\nfour studies: one after another {after_another:.3f} s, on four threads {at_once:.3f} s, "
          f"ratio {at_once / after_another:.2f}, {os.cpu_count()} processors")


def test_figure_import():
    def seconds(line):
        code = f"import time; t = time.perf_counter(); {line}; print(time.perf_counter() - t)"
        runs = [subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True) for _ in range(9)]
        return statistics.median(float(run.stdout) for run in runs)

    print(f"\nimport unyoke {seconds('import unyoke'):.3f} s, of which numpy {seconds('import numpy'):.3f} s")


def test_figure_memory():
    def used():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    study = uk.Study.open(None, beam())
    advance(study, 30)
    for _ in range(50):
        study.withdraw(study.ask())
    before = used()
    for _ in range(1000):
        study.withdraw(study.ask())
    print(f"\n1,000 asks: {before:.1f} MB before, {used():.1f} MB after")
    assert used() - before < 10


def test_dask_runs_functions():
    distributed = pytest.importorskip("distributed")
    import cloudpickle
    import conftest

    # Workers cannot import the tests.
    cloudpickle.register_pickle_by_value(conftest)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            study = with_functions(uk.Study.open(None, beam()))
            summary = study.run(budget=75, executor=client.get_executor(), slots=2)
    assert summary.ending == "budget" and 65 < study.spent <= 75 and not study.pending()


def test_ray_runs_functions_and_survives_a_killed_worker(tmp_path):
    pytest.importorskip("ray")
    import ray
    import ray.cloudpickle

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

    from unyoke.executors import RayExecutor

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        study = uk.Study.open(tmp_path / "beam.db", beam())
        marker = str(tmp_path / "killed")

        def mass(root, tip):
            if not pathlib.Path(marker).exists():
                pathlib.Path(marker).touch()
                os.kill(os.getpid(), 9)
            return 40 * (root + tip)

        study.measures("mass")(mass)
        study.measures("deflection")(lambda root, tip: 1e-3 / (root**3 + 0.2 * tip**2))
        with RayExecutor(2) as executor, pytest.raises(uk.RunError, match="executor lost"):
            study.run(budget=75, executor=executor)
        assert "failed" not in {e["status"] for e in study._evaluations()}
        study.measures("mass")(lambda root, tip: 40 * (root + tip))
        with RayExecutor(2) as executor:
            summary = study.run(budget=75, executor=executor)
        assert summary.resumed >= 1 and not study.pending() and 65 < study.spent <= 75
        assert {e["status"] for e in study._evaluations()} == {"completed"}
    finally:
        ray.shutdown()


def test_a_study_of_optuna_is_imported():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    theirs = optuna.create_study(directions=["minimize", "minimize"])

    def objective(trial):
        design = (trial.suggest_float("root", 0.10, 0.18), trial.suggest_float("tip", 1e-3, 0.1, log=True))
        return mass_of(*design), deflection_of(*design)

    theirs.optimize(objective, n_trials=12)
    study = uk.Study.open(None, beam())
    assert study.add(uk.importers.from_optuna(theirs, ["mass", "deflection"])) == 24
    assert len(study.front(5)) > 1
