"""A small made-up wing, for the outputs printed in docs/problems.md."""

import sys

span, chord = float(sys.argv[1]), float(sys.argv[2])
area, ratio = span * chord, span / chord
lift = 0.9 * area * ratio / (ratio + 2)
drag = 0.012 * area + 0.05 * (lift / area) ** 2 * area / ratio
moment = lift * span / 10
