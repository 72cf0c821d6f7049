"""Stands for your own program: prints the mass of a beam as its last line."""

import sys

length, thickness, layers = (float(text) for text in sys.argv[1:4])
density = {"steel": 7850.0, "oak": 700.0}[sys.argv[4]]
print(density * length * 0.1 * thickness * layers)
