"""The figures of docs/python.md. Run by `cargo xtask python-long`, which prints them."""

import os
import statistics
import subprocess
import sys
import threading
import time

import pytest

import unyoke as uk
from conftest import RustStudy, VALUE, advance, beam, plain, value_of

pytestmark = pytest.mark.long


def processor_time(process=None):
    """What all threads of this or another process have used of processors, in seconds."""
    if process is None:
        return time.process_time()
    # As clock_getcpuclockid(3) makes it.
    return time.clock_gettime((~process << 3) | 2)


def median(times):
    return f"{1e3 * statistics.median(times):.2f} ms"


def quartiles(times):
    low, middle, high = (1e3 * quartile for quartile in statistics.quantiles(times, n=4))
    return f"median {middle:.2f} ms, quartiles {low:.2f} and {high:.2f} ms"


@pytest.mark.parametrize("algorithm, count", [("auto", 70), ("sobol", 200)])
def test_figure_overhead_of_a_suggestion(steps, algorithm, count):
    """The same study in Rust and here, step by step and in turn: the same bits, so the same work."""
    make = beam if algorithm == "auto" else plain
    study = uk.Study.open(None, make(), seed=3, algorithm=algorithm)
    clock, processor, whole = [], [], []
    with RustStudy(steps, study) as rust:
        for step in range(count):
            began = processor_time(rust.process.pid)
            theirs, seconds = rust.ask()
            used = processor_time(rust.process.pid) - began
            before, started = processor_time(), time.perf_counter()
            ours = study.ask()
            took = time.perf_counter() - started
            here = processor_time() - before
            assert ours.as_dict() == theirs
            if ours.as_dict()["options"] or algorithm != "auto":
                clock.append(took - seconds)
                processor.append(here - used)
                whole.append(used)
            value = value_of(ours)
            study.tell(ours, value)
            rust.tell(value)
    print(f"\n{algorithm}: {len(whole)} suggestions of {median(whole)} of processor time in Rust; in Python "
          f"more: {quartiles(processor)} of processor time, {quartiles(clock)} by the clock")


def test_figure_threads():
    def measure(work):
        started, before = time.perf_counter(), processor_time()
        work()
        return time.perf_counter() - started, processor_time() - before

    def told(seed):
        one = uk.Study.open(None, beam(), seed=seed)
        advance(one, 20)
        return one

    def one_after_another():
        for one in studies:
            one.explain()

    def at_once():
        threads = [threading.Thread(target=one.explain) for one in studies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    studies = [told(seed) for seed in range(4)]
    alone, together = [], []
    for _ in range(5):
        alone.append(measure(one_after_another))
        together.append(measure(at_once))
    wall, used = (statistics.median(part) for part in zip(*alone))
    wall_at_once, used_at_once = (statistics.median(part) for part in zip(*together))
    print(f"\nfour studies: one after another {wall:.2f} s ({used:.2f} s of processors), on four threads "
          f"{wall_at_once:.2f} s ({used_at_once:.2f} s), ratio {wall_at_once / wall:.2f}; "
          f"{os.cpu_count()} processors, RAYON_NUM_THREADS={os.environ.get('RAYON_NUM_THREADS')}, "
          f"load {os.getloadavg()[0]:.1f}")


def test_figure_import():
    def seconds(line):
        code = f"import time; t = time.perf_counter(); {line}; print(time.perf_counter() - t)"
        runs = [subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True) for _ in range(9)]
        return statistics.median(float(run.stdout) for run in runs)

    print(f"\nimport unyoke {seconds('import unyoke'):.3f} s, of which numpy {seconds('import numpy'):.3f} s")


def test_figure_memory():
    """A thousand searches, with a model of each objective."""
    def used():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    problem = uk.Problem(
        {"x": uk.Real(0, 1)}, {"mass": uk.Minimise(cost=1), "drag": uk.Minimise(cost=5)}
    )
    study = uk.Study.open(None, problem, initial=4)
    study.add([{"x": x, "mass": x, "drag": (1 - x) ** 2} for x in (0.1, 0.3, 0.5, 0.7, 0.9)])

    def ask(times):
        for _ in range(times):
            suggestion = study.ask()
            assert suggestion.as_dict()["options"], "a model is asked"
            study.withdraw(suggestion)

    while not study.explain().as_dict()["options"]:
        suggestion = study.ask()
        x = suggestion.design["x"]
        study.tell(suggestion, x if suggestion.measurement == "mass" else (1 - x) ** 2)
    ask(100)
    found = [used()]
    for _ in range(4):
        ask(250)
        found.append(used())
    print("\n1,000 searches, memory after each 250: " + ", ".join(f"{mb:.1f} MB" for mb in found))
    assert found[-1] - found[0] < 8
