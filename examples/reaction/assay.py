"""Stands in for the laboratory: makes the product, and measures it by one of two assays.

A becomes the product P, and P decays to Q, faster where it is hot; the base makes Q, too. The design is
read from the file that UNYOKE_DESIGN names, the result is written to the one of UNYOKE_RESULT.
"""

import json
import math
import os
import random
import sys

ERRORS = {"quick": {"yield": 4.0}, "chromatography": {"yield": 0.8, "purity": 0.5}}
GAS = 8.314
STEPS = 400


def rate(at_80, energy, temperature):
    """Arrhenius' law, by the rate at 80 °C."""
    return at_80 * math.exp(-energy / GAS * (1 / (temperature + 273.15) - 1 / 353.15))


def react(temperature, time, catalyst, base):
    """Yield and purity in percent."""
    forming = rate(1.2, 60e3, temperature) * catalyst * base / (0.1 + base)
    decaying = rate(0.004, 95e3, temperature) * (1 + 2 * base)
    left, product, waste = 1.0, 0.0, 0.0
    step = time / STEPS
    for _ in range(STEPS):
        formed = left * -math.expm1(-forming * step)
        decayed = product * -math.expm1(-decaying * step)
        left, product, waste = left - formed, product + formed - decayed, waste + decayed
    # What is left of A is washed out, but a hundredth of it.
    return {"yield": 100 * product, "purity": 100 * product / (product + waste + 0.01 * left)}


def main():
    with open(os.environ["UNYOKE_DESIGN"]) as file:
        told = json.load(file)
    true = react(**told["design"])
    chance = random.Random(told["evaluation"])
    errors = ERRORS[sys.argv[1]]
    result = {
        name: {"value": chance.gauss(true[name], sd), "sd": sd} for name, sd in errors.items()
    }
    with open(os.environ["UNYOKE_RESULT"], "w") as file:
        json.dump(result, file)


main()
