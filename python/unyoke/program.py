"""Where the program `unyoke` is that came with this package."""

from __future__ import annotations

import os
import sys
import sysconfig


def program() -> str:
    """The path of the program `unyoke`, which `python -m unyoke` runs as well."""
    name = "unyoke" + sysconfig.get_config_var("EXE")
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=f"{os.name}_user"),
        # `pip install --target` puts scripts beside the packages.
        os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"),
        os.path.dirname(sys.executable),
    ]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"the program {name} is not in {', '.join(folders)}")
