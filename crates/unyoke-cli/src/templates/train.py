"""Stands for a training: prints the validation error as its last line."""

import math
import random
import sys

rate, layers, width = (float(text) for text in sys.argv[1:])
capacity = layers * math.log(width)
error = 0.05 + 0.4 * math.exp(-capacity / 8) + 0.02 * (math.log10(rate) + 2.5 + 0.1 * layers) ** 2
print(error + random.gauss(0, 0.003))
