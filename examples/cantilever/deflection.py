"""Tip deflection of a tapered steel cantilever under a load at its end, by finite elements.

Euler-Bernoulli beam elements with two degrees of freedom a node: deflection and slope. The
stiffness matrix is banded and solved by Cholesky's method. Prints millimetres.
"""

import sys

LENGTH = 2.0
YOUNG = 210e9
LOAD = 2000.0
ELEMENTS = 400
BAND = 4  # each degree of freedom meets the three after it


def stiffness(root, tip, width):
    """Rows of the upper band of the matrix; the wall's two degrees of freedom are left out."""
    size = LENGTH / ELEMENTS
    band = [[0.0] * BAND for _ in range(2 * (ELEMENTS + 1))]
    for element in range(ELEMENTS):
        height = root + (tip - root) * (element + 0.5) / ELEMENTS
        bending = YOUNG * width * height**3 / 12 / size**3
        local = [
            [12, 6 * size, -12, 6 * size],
            [4 * size**2, -6 * size, 2 * size**2],
            [12, -6 * size],
            [4 * size**2],
        ]
        for row, entries in enumerate(local):
            for offset, entry in enumerate(entries):
                band[2 * element + row][offset] += bending * entry
    return band[2:]


def solve(band, load):
    """Solves band · x = load, in place, by Cholesky's factors without roots."""
    count = len(band)
    for i in range(count):
        pivot = band[i][0]
        for j in range(1, min(BAND, count - i)):
            factor = band[i][j] / pivot
            for k in range(j, min(BAND, count - i)):
                band[i + j][k - j] -= factor * band[i][k]
            load[i + j] -= factor * load[i]
    for i in reversed(range(count)):
        for j in range(1, min(BAND, count - i)):
            load[i] -= band[i][j] * load[i + j]
        load[i] /= band[i][0]
    return load


def main():
    root, tip, width = map(float, sys.argv[1:])
    band = stiffness(root, tip, width)
    load = [0.0] * len(band)
    load[-2] = LOAD
    print(1000 * solve(band, load)[-2])


main()
