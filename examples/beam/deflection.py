"""Tip deflection of a tapered steel cantilever under a load at its end. Prints millimetres.

By the unit load method: the integral of M(x) m(x) / (E I(x)) along the beam, where M is the bending
moment of the load and m that of a unit load at the tip. Simpson's rule.
"""

import sys

LENGTH = 2.0
YOUNG = 210e9
LOAD = 10e3
INTERVALS = 1000

root, tip, width = map(float, sys.argv[1:])


def bending(x):
    """M m / (E I) at a distance x from the wall."""
    height = root + (tip - root) * x / LENGTH
    lever = LENGTH - x
    return LOAD * lever**2 / (YOUNG * width * height**3 / 12)


size = LENGTH / INTERVALS
weights = [1] + [4, 2] * (INTERVALS // 2 - 1) + [4, 1]
print(1000 * size / 3 * sum(w * bending(i * size) for i, w in enumerate(weights)))
