"""Times the next suggestion of BoTorch, Ax, Optuna and Unyoke in the same states of the same problems.

Called by `cargo xtask bench --peers` with the path of the program `unyoke`. One thread everywhere; processor time
(user and system), the median of several suggestions taken in turns. Peers are timed without their imports, Unyoke
with the start of its process and reading the study.
"""

import csv
import logging
import math
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"
warnings.filterwarnings("ignore")

import optuna  # noqa: E402
import torch  # noqa: E402

logging.disable(logging.WARNING)
torch.set_num_threads(1)
torch.set_default_dtype(torch.double)
optuna.logging.set_verbosity(optuna.logging.ERROR)

PROGRAM = Path(sys.argv[1]).resolve()
#: Suggestions per state, and the processor time after which no more are taken of one contestant.
ROUNDS = 3
ENOUGH = 60.0


def branin(x):
    u, v = 15 * x[0] - 5, 15 * x[1]
    bowl = v - 5.1 / (4 * math.pi**2) * u**2 + 5 / math.pi * u - 6
    return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(u) + 10


def currin(x):
    factor = 1 - math.exp(-1 / (2 * x[1])) if x[1] > 0 else 1.0
    top = 2300 * x[0] ** 3 + 1900 * x[0] ** 2 + 2092 * x[0] + 60
    return factor * top / (100 * x[0] ** 3 + 500 * x[0] ** 2 + 4 * x[0] + 20)


def bowl(*centre):
    return lambda x: sum((a - c) ** 2 for a, c in zip(x, centre)) + 0.1 * math.sin(5 * x[0] * x[1])


class State:
    """Designs, and for each objective, which is minimised, the values at the first so many of them."""

    def __init__(self, name, dim, functions, counts):
        self.name, self.dim, self.counts = name, dim, counts
        rng = random.Random(7)
        self.designs = [[rng.random() for _ in range(dim)] for _ in range(max(counts))]
        self.values = [[f(x) for x in self.designs] for f in functions]

    @property
    def objectives(self):
        return range(len(self.counts))


STATES = [
    State("D = 2, n = 6 + 6", 2, [branin, currin], [6, 6]),
    State("D = 2, n = 60 + 20", 2, [branin, currin], [60, 20]),
    State("D = 6, n = 3 x 100", 6, [bowl(0.2, 0.3), bowl(0.7, 0.5, 0.4), bowl(0.5, 0.1, 0.9)], [100] * 3),
    State("D = 6, n = 2 x 1,000", 6, [bowl(0.2, 0.3), bowl(0.7, 0.5, 0.4)], [1000] * 2),
]


def processor_time():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Unyoke:
    """The program, with an algorithm."""

    def __init__(self, algorithm):
        self.algorithm, self.name = algorithm, f"Unyoke, {algorithm}"

    def prepare(self, state, folder):
        self.folder = folder / self.algorithm
        self.folder.mkdir()
        text = f'[study]\nalgorithm = "{self.algorithm}"\n[initial]\ndesigns = 1\n'
        text += "".join(f"[parameters.x{i}]\nlow = 0\nhigh = 1\n" for i in range(state.dim))
        text += "".join(
            f'[objectives.f{k}]\ndirection = "minimise"\ncost = {1 + 9 * k}\n' for k in state.objectives
        )
        (self.folder / "study.toml").write_text(text)
        with (self.folder / "old.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*(f"x{i}" for i in range(state.dim)), *(f"f{k}" for k in state.objectives)])
            for row, design in enumerate(state.designs):
                cells = [state.values[k][row] if row < state.counts[k] else "" for k in state.objectives]
                writer.writerow([*design, *cells])
        self.call("import", "old.csv")
        shutil.copytree(self.folder, self.folder.with_suffix(".start"))

    def call(self, *arguments):
        subprocess.run([PROGRAM, *arguments], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def reset(self):
        """Takes back what was asked for."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.folder.with_suffix(".start"), self.folder)

    def suggest(self, _round):
        self.call("ask")


class BoTorch:
    """A model for each objective, and qLogNEHVI with the settings of its tutorials."""

    name = "BoTorch, qLogNEHVI"

    def prepare(self, state, _folder):
        x = torch.tensor(state.designs)
        self.data = [
            (x[:n], -torch.tensor(y[:n]).unsqueeze(-1)) for n, y in zip(state.counts, state.values)
        ]
        self.x, self.dim = x, state.dim
        values = torch.tensor([y[: min(state.counts)] for y in state.values]).T
        self.reference = (-values).min(dim=0).values - 0.1 * (values.max(0).values - values.min(0).values)

    def suggest(self, round):
        from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import ModelListGP, SingleTaskGP
        from botorch.models.transforms import Standardize
        from botorch.optim import optimize_acqf
        from botorch.sampling import SobolQMCNormalSampler
        from gpytorch.mlls import SumMarginalLogLikelihood

        torch.manual_seed(round)
        model = ModelListGP(*(SingleTaskGP(x, y, outcome_transform=Standardize(1)) for x, y in self.data))
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        value = qLogNoisyExpectedHypervolumeImprovement(
            model,
            self.reference,
            X_baseline=self.x,
            prune_baseline=True,
            sampler=SobolQMCNormalSampler(torch.Size([128]), seed=round),
        )
        bounds = torch.tensor([[0.0] * self.dim, [1.0] * self.dim])
        optimize_acqf(value, bounds, q=1, num_restarts=10, raw_samples=512)


class Ax:
    """What its client chooses. It gets values of all objectives at every design."""

    name = "Ax, its default"

    def prepare(self, state, _folder):
        from ax.api.client import Client
        from ax.api.configs import RangeParameterConfig

        self.client = Client(random_seed=1)
        names = [f"x{i}" for i in range(state.dim)]
        self.client.configure_experiment(
            [RangeParameterConfig(name=n, parameter_type="float", bounds=(0, 1)) for n in names]
        )
        self.client.configure_optimization(objective=", ".join(f"-f{k}" for k in state.objectives))
        self.client.configure_generation_strategy(
            initialization_budget=0, initialize_with_center=False, torch_device="cpu"
        )
        for row, design in enumerate(state.designs):
            trial = self.client.attach_trial(dict(zip(names, design)))
            data = {f"f{k}": state.values[k][row] for k in state.objectives}
            self.client.complete_trial(trial, raw_data=data)

    def suggest(self, _round):
        trials = self.client.get_next_trials(max_trials=1)
        for trial in trials:
            self.client.mark_trial_abandoned(trial)


class Optuna:
    """Its Gaussian processes. They get values of all objectives at every design."""

    name = "Optuna, GPSampler"

    def prepare(self, state, _folder):
        self.dim, directions = state.dim, ["minimize"] * len(state.counts)
        self.study = optuna.create_study(
            directions=directions, sampler=optuna.samplers.GPSampler(seed=1, n_startup_trials=1)
        )
        space = {f"x{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(state.dim)}
        for row, design in enumerate(state.designs):
            self.study.add_trial(
                optuna.trial.create_trial(
                    params=dict(zip(space, design)),
                    distributions=space,
                    values=[state.values[k][row] for k in state.objectives],
                )
            )

    def suggest(self, _round):
        trial = self.study.ask()
        for i in range(self.dim):
            trial.suggest_float(f"x{i}", 0, 1)
        self.study.tell(trial, state=optuna.trial.TrialState.FAIL)


def measure(state):
    """By contestant the median processor time, in seconds, or why there is none."""
    times, found = {}, {}
    contestants = [Unyoke("auto"), Unyoke("c-mokg"), BoTorch(), Ax(), Optuna()]
    with tempfile.TemporaryDirectory() as folder:
        for one in contestants:
            try:
                one.prepare(state, Path(folder))
                if not isinstance(one, Unyoke):
                    warm = processor_time()
                    one.suggest(99)
                    found[one.name] = [processor_time() - warm]
                times[one.name] = []
            except Exception as error:  # noqa: BLE001
                print(f"{one.name}: {type(error).__name__}: {error}", file=sys.stderr)
                times[one.name] = None
        for round in range(ROUNDS):
            for one in contestants:
                own = times[one.name]
                # The first suggestion of a peer pays for what it sets up once; it counts only where it is all there is.
                if own is None or sum(own) + sum(found.get(one.name, [])) > ENOUGH:
                    continue
                if isinstance(one, Unyoke):
                    one.reset()
                before = processor_time()
                one.suggest(round)
                own.append(processor_time() - before)
    return {
        name: None if own is None else statistics.median(own or found[name]) for name, own in times.items()
    }


def in_words(seconds):
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2g} s"


def main():
    versions = {"BoTorch": "botorch", "Ax": "ax-platform", "Optuna": "optuna", "PyTorch": "torch"}
    from importlib.metadata import version

    print(", ".join(f"{name} {version(package)}" for name, package in versions.items()))
    rows, began = {}, time.monotonic()
    for state in STATES:
        found = measure(state)
        for name, seconds in found.items():
            rows.setdefault(name, []).append(seconds)
        # Large states take long: whoever does not wait for them has the others.
        words = ", ".join(f"{name} {in_words(seconds)}" for name, seconds in found.items() if seconds)
        print(f"{state.name}, after {time.monotonic() - began:.0f} s: {words}", file=sys.stderr)
    ours = rows["Unyoke, auto"]
    print("\n| | " + " | ".join(state.name for state in STATES) + " |")
    print("|---" * (len(STATES) + 1) + "|")
    for name, own in rows.items():
        cells = []
        for seconds, base in zip(own, ours):
            ratio = "" if name == "Unyoke, auto" or not seconds else f" ({seconds / base:.2g} x)"
            cells.append("-" if seconds is None else in_words(seconds) + ratio)
        print(f"| {name} | " + " | ".join(cells) + " |")


main()
