"""How long the device takes for an answer, in milliseconds, with the standard error.

Stands in for a benchmark on the device: an answer takes a time for each unit that grows with the
precision of its weights. Every answer is a little early or late; the mean of ten is printed.
"""

import os
import random
import statistics
import sys

ANSWERS = 10

units, bits = int(sys.argv[1]), int(sys.argv[2].split()[0])
chance = random.Random(int(os.environ.get("UNYOKE_EVALUATION", "0")))
expected = 0.2 + 0.01 * units * (1 + bits / 8)
times = [expected * chance.lognormvariate(0, 0.1) for _ in range(ANSWERS)]
print(f"{statistics.mean(times)} ± {statistics.stdev(times) / ANSWERS**0.5}")
