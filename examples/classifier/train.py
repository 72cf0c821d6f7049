"""Trains a network with one hidden layer on two interleaved half-moons. Prints its error in percent.

Plain gradient descent, one point at a time. The weights are rounded to the precision after the
training. Networks that do not fit into the device's memory fail as they would there.
"""

import math
import os
import random
import sys

MEMORY = 300  # bits for one weight of every unit
EPOCHS = 12


def moons(count, chance):
    """Points of two half-moons, blurred, with their class: -1 or 1."""
    points = []
    for i in range(count):
        side = 1 if i % 2 else -1
        angle = math.pi * chance.random()
        x = math.cos(angle) - 0.5 * side
        y = side * (0.25 - math.sin(angle))
        points.append((x + chance.gauss(0, 0.2), y + chance.gauss(0, 0.2), side))
    return points


def train(units, rate, points, chance):
    """Rows of the hidden layer: two weights, a bias, and the weight of its output."""
    rows = [[chance.gauss(0, 1.5) for _ in range(3)] + [0.0] for _ in range(units)]
    for _ in range(EPOCHS):
        for x, y, side in points:
            outputs = [math.tanh(a * x + b * y + c) for a, b, c, _ in rows]
            miss = side - sum(row[3] * output for row, output in zip(rows, outputs))
            miss = max(-2.0, min(2.0, miss))
            for row, output in zip(rows, outputs):
                slope = rate * miss * row[3] * (1 - output * output)
                row[0] += slope * x
                row[1] += slope * y
                row[2] += slope
                row[3] += rate * miss * output / units**0.5
    return rows


def rounded(rows, bits):
    """The weights as so many bits hold them, relative to the largest of their kind."""
    steps = 2 ** (bits - 1) - 1
    sizes = [max(abs(row[kind]) for row in rows) / steps or 1.0 for kind in range(4)]
    return [[round(weight / size) * size for weight, size in zip(row, sizes)] for row in rows]


def is_right(rows, x, y, side):
    score = sum(out * math.tanh(a * x + b * y + c) for a, b, c, out in rows)
    return (score > 0) == (side > 0)


def main():
    units, rate, bits = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3].split()[0])
    if units * bits > MEMORY:
        sys.exit(f"out of memory: {units} units of {bits} bit")
    data = random.Random(1)
    training, test = moons(60, data), moons(400, data)
    chance = random.Random(int(os.environ.get("UNYOKE_EVALUATION", "0")))
    rows = rounded(train(units, rate, training, chance), bits)
    wrong = sum(not is_right(rows, *point) for point in test)
    print(100 * wrong / len(test))


main()
