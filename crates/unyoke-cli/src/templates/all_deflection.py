"""Stands for your own program: prints the deflection of a beam as its last line."""

import sys

given = dict(argument.lstrip("-").split("=") for argument in sys.argv[1:])
length, height = float(given["length"]), float(given["thickness"]) * int(given["layers"])
modulus = {"steel": 2.1e11, "oak": 1.1e10}[given["material"]]
print(4 * 100.0 * length**3 / (modulus * 0.1 * height**3))
