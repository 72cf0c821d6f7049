"""Mass of a tapered steel beam, 2 m long. Prints kilograms."""

import sys

LENGTH = 2.0
DENSITY = 7850.0

root, tip, width = map(float, sys.argv[1:])
print(DENSITY * LENGTH * width * (root + tip) / 2)
