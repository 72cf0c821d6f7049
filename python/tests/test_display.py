"""What notebooks show, what matplotlib draws, what a terminal sees."""

import io
import sys
import xml.etree.ElementTree as xml

import matplotlib

matplotlib.use("Agg")

import pytest

import unyoke as uk
from conftest import with_functions
from unyoke import plots, progress


def test_fronts_studies_and_suggestions_show_themselves(told):
    front = told.front(5)
    svg = front.svg()
    assert xml.fromstring(svg).tag.endswith("svg")
    assert svg in front._repr_html_() and "<table>" in front._repr_html_()
    page = told._repr_html_()
    assert "deflection" in page and "<svg" in page and "spent" in page
    assert "<table>" in told.explain()._repr_html_()
    assert "<svg" not in uk.Study.open(None, told.problem)._repr_html_(), "no values, no front"


def test_what_users_call_things_cannot_break_a_page():
    problem = uk.Problem({"<b>x": uk.Real(0, 1)}, {"<script>f": uk.Minimise(cost=1), "g&": uk.Minimise(cost=2)})
    study = uk.Study.open(None, problem)
    study.add([{"<b>x": i / 4, "<script>f": i, "g&": -i} for i in range(4)])
    for page in (study._repr_html_(), study.front(3)._repr_html_(), study.ask()._repr_html_()):
        assert "<script>" not in page and "<b>x" not in page.replace("<b>evaluation", "")


def test_plots_are_drawn_on_axes(told):
    ax = told.front(6).plot()
    assert ax.get_xlabel() == "mass (minimise)" and ax.get_legend() is not None
    assert told.front(6).plot(ax=ax, objectives=["deflection", "mass"]) is ax
    assert plots.spending(told).get_xlabel() == "total cost"
    assert "mass" in plots.predictions(told, "mass").get_xlabel()
    with pytest.raises(uk.DataError, match="did you mean"):
        plots.predictions(told, "mas")
    with pytest.raises(uk.DataError, match="two objectives"):
        told.front(3).plot(objectives=["mass"])
    matplotlib.pyplot.close("all")


def test_a_missing_package_names_its_extra(monkeypatch, told):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(uk.Error, match=r"pip install 'unyoke\[pandas\]'"):
        told.evaluations()
    assert told.evaluations("rows")


def test_the_bar_is_plain_text_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    shown = progress.progress_for(True, 20.0)
    shown.update(5.0, "3 done")
    shown.note("evaluation 3 failed")
    shown.close()
    assert "5 of 20 spent, 3 done" in out.getvalue() and "evaluation 3 failed" in out.getvalue()


@pytest.mark.parametrize("installed", [True, False])
def test_a_run_shows_its_progress_if_asked_to(capsys, monkeypatch, study, installed):
    if not installed:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with_functions(study).run(budget=25, progress=True)
    assert "25" in capsys.readouterr().err
    study.run(budget=26)
    assert capsys.readouterr().err == "", "nobody can see it"
