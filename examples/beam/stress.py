"""Largest bending stress along a tapered cantilever under a load at its end. Prints MPa."""

import sys

LENGTH = 2.0
LOAD = 10e3
SECTIONS = 200

root, tip, width = map(float, sys.argv[1:])


def stress(x):
    """At a distance x from the wall."""
    height = root + (tip - root) * x / LENGTH
    return 6 * LOAD * (LENGTH - x) / (width * height**2)


print(max(stress(LENGTH * i / SECTIONS) for i in range(SECTIONS)) / 1e6)
