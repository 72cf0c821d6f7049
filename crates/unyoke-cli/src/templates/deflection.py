"""Stands for a simulation: prints the deflection of a beam as its last line."""

import sys

height, width = (float(text) for text in sys.argv[1:])
force, length, modulus = 1000.0, 3.0, 2.1e11
print(4 * force * length**3 / (modulus * width * height**3))
