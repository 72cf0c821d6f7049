"""The notebooks run from beginning to end."""

import pathlib

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def shown(path, folder, timeout):
    """Runs a notebook and gives what its cells show."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=timeout, resources=resources).execute()
    return [o.get("data", {}) for cell in notebook.cells for o in cell.get("outputs", [])]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs(path, tmp_path):
    assert any("text/html" in data or "text/plain" in data for data in shown(path, tmp_path, 300))


@pytest.mark.long
def test_the_comparison_with_botorch_runs(tmp_path):
    pytest.importorskip("botorch")
    [path] = [path for path in NOTEBOOKS if path.stem == "decoupled"]
    *_, rows = [data["text/plain"] for data in shown(path, tmp_path, 3600) if "text/plain" in data]
    assert "BoTorch, decoupled HVKG" in rows
    print(f"\n{rows}")
