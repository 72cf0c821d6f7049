"""Examples in docstrings and documents run as printed."""

import doctest
import importlib
import pathlib
import pkgutil
import re

import pytest

import unyoke

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ["unyoke"] + [
    f"unyoke.{module.name}"
    for module in pkgutil.iter_modules(unyoke.__path__)
    if not module.name.startswith("_")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def blocks(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), flags=re.S | re.M)


def test_the_example_in_the_readme_runs_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first = blocks(ROOT / "README.md")[0]
    exec(compile(first, "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out


def test_the_examples_in_the_document_run_as_printed(tmp_path, monkeypatch):
    """All blocks of docs/python.md in order, in one namespace."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for place, block in enumerate(blocks(ROOT / "docs" / "python.md")):
        exec(compile(block, f"docs/python.md, block {place}", "exec"), namespace)


def test_everything_public_has_a_docstring():
    for name in unyoke.__all__:
        one = getattr(unyoke, name)
        assert name.startswith("__") or one.__doc__, name
    for name, method in vars(unyoke.Study).items():
        assert name.startswith("_") or getattr(method, "__doc__", None), name
