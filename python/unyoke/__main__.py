"""`python -m unyoke` is the program `unyoke`."""

import os
import sys

from unyoke.program import program

if __name__ == "__main__":
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
