"""Forces on a tapered wing at 50 m/s, by Prandtl's lifting-line theory.

    python3 flow.py cfd SPAN CHORD TAPER ANGLE       lift, drag and bending moment
    python3 flow.py panels SPAN CHORD TAPER ANGLE    the lift, roughly

Stands in for both solvers. The circulation is a sine series, of which the coefficients follow from the
flow at as many stations of the half-wing. "panels" takes three of them, which is off by about a percent:
it says so by a standard error.
"""

import math
import sys

DENSITY = 1.225
SPEED = 50.0
SLOPE = 2 * math.pi  # of a section's lift by its angle
PROFILE = 0.008  # drag of a section without lift
SEPARATION = 0.01  # and what its lift adds


def chord_at(angle, chord, taper):
    """The chord at a station, 0 < angle <= pi/2 from tip to root."""
    return chord * (1 - (1 - taper) * math.cos(angle))


def coefficients(span, chord, taper, attack, terms):
    """Of the odd sine terms of the circulation, by elimination."""
    rows = []
    for i in range(1, terms + 1):
        station = i * math.pi / (2 * terms)
        local = SLOPE * chord_at(station, chord, taper) / (4 * span)
        orders = range(1, 2 * terms, 2)
        row = [math.sin(n * station) * (n * local + math.sin(station)) for n in orders]
        rows.append(row + [local * attack * math.sin(station)])
    for i in range(terms):
        pivot = max(range(i, terms), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(terms):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def forces(span, chord, taper, attack, terms):
    """Lift and drag in kN, bending moment at the root in kNm."""
    series = coefficients(span, chord, taper, attack, terms)
    pressure = DENSITY * SPEED**2 / 2 / 1000
    lift = pressure * math.pi * span**2 * series[0]
    induced = pressure * math.pi * span**2 * sum(
        (2 * i + 1) * a * a for i, a in enumerate(series)
    )
    area = span * chord * (1 + taper) / 2
    per_area = lift / (pressure * area)
    drag = induced + pressure * area * (PROFILE + SEPARATION * per_area**2)
    # ∫ y dL over one half: the first term has its centre at 4/(3π), the others follow.
    moment, stations = 0.0, 200
    for k in range(stations):
        angle = (k + 0.5) * math.pi / (2 * stations)
        circulation = sum(a * math.sin((2 * i + 1) * angle) for i, a in enumerate(series))
        moment += circulation * math.cos(angle) * math.sin(angle)
    moment *= pressure * span**3 * math.pi / (2 * stations)
    return lift, drag, moment


def main():
    method = sys.argv[1]
    span, chord, taper, angle = map(float, sys.argv[2:])
    attack = math.radians(angle)
    if method == "panels":
        lift, _, _ = forces(span, chord, taper, attack, 3)
        print(f"lift = {lift} ± {0.02 * lift}")
    else:
        lift, drag, moment = forces(span, chord, taper, attack, 20)
        print(f"lift = {lift}\ndrag = {drag}\nmoment = {moment}")


main()
