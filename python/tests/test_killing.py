"""Drivers that are killed with -9: nothing is lost, nothing doubled, the budget kept."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import unyoke as uk

DRIVER = textwrap.dedent(
    """
    import os, sys, time
    sys.path.insert(0, sys.argv[2])
    from concurrent.futures import ProcessPoolExecutor
    import unyoke as uk
    from conftest import plain, mass_of, deflection_of

    def mass(root, tip):
        time.sleep(0.01)
        return mass_of(root, tip)

    def deflection(root, tip):
        time.sleep(0.03)
        return deflection_of(root, tip)

    if __name__ == "__main__":
        study = uk.Study.open(sys.argv[1], plain(), algorithm=sys.argv[3])
        study.measures("mass")(mass)
        study.measures("deflection")(deflection)
        with ProcessPoolExecutor(3) as pool:
            summary = study.run(budget=float(sys.argv[4]), executor=pool)
        print(summary.ending, summary.resumed, flush=True)
    """
)


def start(script, path, algorithm, budget):
    arguments = [sys.executable, str(script), str(path), os.path.dirname(__file__), algorithm, str(budget)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, start_new_session=True)


def kill_again_and_again(tmp_path, *, algorithm, budget, kills):
    """Kills drivers at random moments; then lets one finish. Returns the study and how it ended."""
    script, path = tmp_path / "driver.py", tmp_path / "beam.db"
    script.write_text(DRIVER)
    moments = random.Random(7)
    seen: dict[int, dict] = {}
    groups = []
    for kill in range(kills):
        process = start(script, path, algorithm, budget)
        groups.append(process.pid)
        # So many evaluations later than now, and then a little.
        begun = len(seen)
        wanted = begun + moments.randrange(3, 15)
        while process.poll() is None:
            if path.exists() and len(completed(path, seen)) >= wanted:
                break
            time.sleep(0.02)
        time.sleep(moments.random() * 0.1)
        # Sometimes the driver alone, whose workers are left without one; sometimes all of them.
        if kill % 2:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        completed(path, seen)
    last = start(script, path, algorithm, budget)
    groups.append(last.pid)
    out, _ = last.communicate(timeout=300)
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return uk.Study.open(path), out.split(), seen


def completed(path, seen):
    """Takes in what is recorded, which must never change."""
    try:
        evaluations = uk.Study.open(path)._evaluations()
    except uk.NoStudy:
        return seen
    for evaluation in evaluations:
        if evaluation["status"] == "completed":
            number = evaluation["evaluation"]
            assert seen.setdefault(number, evaluation) == evaluation, "a record has changed"
    assert set(seen) <= {e["evaluation"] for e in evaluations}, "a record is lost"
    return seen


def audit(study, seen, budget):
    evaluations = study._evaluations()
    assert {e["status"] for e in evaluations} == {"completed"}
    assert not study.pending()
    assert all(evaluations[number] == evaluation for number, evaluation in seen.items())
    assert study.spent == sum(e["cost"] for e in evaluations) <= budget
    assert budget - study.spent < 11, "no design fits into what is left"
    assert study.status()["late_results"] == 0


def test_a_driver_that_is_killed_ten_times_loses_and_doubles_nothing(tmp_path):
    # Space-filling designs: what is tested is the record, not the choice.
    study, [ending, _], seen = kill_again_and_again(
        tmp_path, algorithm="sobol", budget=1130, kills=10
    )
    audit(study, seen, 1130)
    assert ending == "budget" and len(study._evaluations()) >= 200


def test_what_a_killed_driver_had_begun_is_made_again_at_once(tmp_path):
    began = time.monotonic()
    study, [ending, resumed], seen = kill_again_and_again(
        tmp_path, algorithm="auto", budget=90, kills=1
    )
    audit(study, seen, 90)
    # Leases last a minute: nobody waited for them to end.
    assert time.monotonic() - began < 55
