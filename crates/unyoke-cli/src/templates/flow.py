"""Stands for a flow solver: prints a line for each output."""

import sys

method, (camber, thickness, angle) = sys.argv[1], (float(text) for text in sys.argv[2:])
if method == "cfd" and angle + 40 * camber > 11:
    sys.exit("the flow separates: no steady solution")
print(f"lift = {0.11 * angle + 11 * camber}")
print(f"moment = {2 * camber + 0.002 * angle}")
if method == "cfd":
    print(f"drag = {0.006 + 0.05 * thickness ** 2 + 0.0004 * (angle - 30 * camber) ** 2}")
