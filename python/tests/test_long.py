"""The figures of docs/python.md. Run by `cargo xtask python-long`, which prints them."""

import os
import statistics
import subprocess
import sys
import threading
import time

import pytest

import unyoke as uk
from conftest import RustStudy, advance, beam, plain, value_of

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
        def in_rust():
            began = processor_time(rust.process.pid)
            suggestion, seconds = rust.ask()
            return suggestion, seconds, processor_time(rust.process.pid) - began

        def in_python():
            began, started = processor_time(), time.perf_counter()
            suggestion = study.ask()
            return suggestion, time.perf_counter() - started, processor_time() - began

        for step in range(count):
            # By turns, for whoever comes second finds another machine.
            if step % 2:
                (theirs, seconds, used), (ours, took, here) = in_rust(), in_python()
            else:
                (ours, took, here), (theirs, seconds, used) = in_python(), in_rust()
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


def time_of_threads():
    """What each thread of this process has used of processors, in seconds."""
    found = {}
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/schedstat") as file:
            found[thread] = int(file.read().split()[0]) / 1e9
    return found


def test_figure_threads():
    """How the work is shared out says more than the clock where others use the cores, too."""
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

    def measure(work):
        before, started = time_of_threads(), time.perf_counter()
        work()
        clock, after = time.perf_counter() - started, time_of_threads()
        return clock, sorted((after[t] - before.get(t, 0) for t in after), reverse=True)

    studies = [told(seed) for seed in range(4)]
    found = {one_after_another: [], at_once: []}
    for _ in range(10):
        for work, runs in found.items():
            runs.append(measure(work))
    clocks = {work: statistics.median(clock for clock, _ in runs) for work, runs in found.items()}
    print(f"\nfour studies, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}: on four threads "
          f"{clocks[at_once] / clocks[one_after_another]:.2f} of the time by the clock")
    for work, runs in found.items():
        used = [sum(times[place] for _, times in runs) for place in range(os.cpu_count())]
        shares = ", ".join(f"{100 * one / sum(used):.0f} %" for one in used)
        print(f"{work.__name__}: {sum(used) / len(runs):.2f} s of processor time, by thread: {shares}")


def test_figure_import():
    def times(line):
        code = (
            f"import time; t = time.perf_counter(), time.process_time(); {line}; "
            "print(time.perf_counter() - t[0], time.process_time() - t[1])"
        )
        command = [sys.executable, "-P", "-c", code]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(21)]
        clock, processor = zip(*(map(float, run.stdout.split()) for run in runs))
        return (f"{statistics.median(clock):.3f} s by the clock (least {min(clock):.3f} s), "
                f"{statistics.median(processor):.3f} s of processor time")

    print(f"\nimport unyoke: {times('import unyoke')}\nimport numpy: {times('import numpy')}")


def used():
    """The memory of this process in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def grown(work, times):
    """By how many MB memory grows over `times` calls, after others to warm up."""
    for _ in range(100):
        work()
    before = used()
    for _ in range(times):
        work()
    return used() - before


def test_figure_memory():
    """A thousand searches with a model of each objective take no more than the history of a thousand
    suggestions, and searches that leave nothing in the history take nothing."""
    problem = uk.Problem(
        {"x": uk.Real(0, 1)}, {"mass": uk.Minimise(cost=1), "drag": uk.Minimise(cost=5)}
    )
    known = [{"x": x, "mass": x, "drag": (1 - x) ** 2} for x in (0.1, 0.3, 0.5, 0.7, 0.9)]

    def study(**settings):
        one = uk.Study.open(None, problem, **settings)
        one.add(known)
        return one

    filling = study(algorithm="sobol")
    history = grown(lambda: filling.withdraw(filling.ask()), 1000)
    searching = study(initial=4)
    while not searching.explain().as_dict()["options"]:
        suggestion = searching.ask()
        x = suggestion.design["x"]
        searching.tell(suggestion, x if suggestion.measurement == "mass" else (1 - x) ** 2)
    alone = grown(searching.explain, 500)

    def ask():
        suggestion = searching.ask()
        assert suggestion.as_dict()["options"], "a model is asked"
        searching.withdraw(suggestion)

    searches = grown(ask, 1000)
    print(f"\nmemory grows by {history:.2f} MB over 1,000 space-filling suggestions, by {searches:.2f} MB "
          f"over 1,000 searched ones, by {alone:.2f} MB over 500 explanations")
    assert alone < 1 and searches < history + 1
