"""A plug-in with a rank correlation, a figure, a report section and a studio page; and plug-ins that fail."""

import base64
import gzip
import json
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import spearmanr

from tests.support.messages import assert_mentions
from tests.support.plugin_package import EXAMPLES, install_example, python, run, save_models, write_metadata
from tiltmeter.testing import check_form, check_measure

FAILING = """
from tiltmeter.reports.figures import ReportFigure
from tiltmeter.reports.sections import ReportSection

def fail(*_):
    raise ValueError("no <such> thing")

FIGURE = ReportFigure("broken-figure", fail, general=True)
SECTION = ReportSection("broken section", fail)
"""
GET_PAGE = """
from importlib import import_module
from pathlib import Path
from tests.studio.client import client_of, studio_on
with client_of(studio_on(Path("."))) as client:
    print(client.get("/occupations").text)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip would install it, two tiny models, and a run of both."""
    folder = tmp_path_factory.mktemp("occupations")
    install_example("tiltmeter-occupations", folder)
    save_models(folder, "first", "second")
    done = run(folder, "run", "first", "second", "--on", "occupations", "--out", "both")
    assert done.returncode == 0, done.stderr
    return folder


def scores_of(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "both" / "scores.parquet")


def test_the_value_is_spearmans_and_its_interval_is_within_the_bounds(folder: Path) -> None:
    records = json.loads(run(folder, "show", "both", "--json").stdout)
    for record in records:
        if record["measure"] == "occupation correlation":
            rows = scores_of(folder).query("model == @record['model']")
            assert record["value"] == pytest.approx(spearmanr(rows["percent_women"], rows["score"]).statistic)
            assert -1 <= record["low"] <= record["value"] <= record["high"] <= 1
    assert {record["model"] for record in records} == {"first", "second"}
    assert "occupation correlation" in run(folder, "show", "both").stdout


def test_items_are_listed_by_their_influence(folder: Path) -> None:
    shown = run(folder, "show", "both", "--top", "2")
    assert shown.returncode == 0, shown.stderr
    rows = scores_of(folder).query("model == 'first'").set_index("item")
    whole = spearmanr(rows["percent_women"], rows["score"]).statistic
    without = {item: rows.drop(item) for item in rows.index}
    influence = pd.Series({i: whole - spearmanr(r["percent_women"], r["score"]).statistic for i, r in without.items()})
    strongest = influence.sort_values(ascending=False).index[0]
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith(f"{strongest}  influence")][:1]
    assert f"{influence.max():+.3f}" in line
    assert rows["occupation"][strongest] in line


def test_the_report_has_the_figure_the_section_and_the_items(folder: Path) -> None:
    done = run(folder, "report", "both", "--out", "report.html", "--figures", "figures")
    assert done.returncode == 0, done.stderr
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert (folder / "figures" / "occupations-occupation-scatter.svg").is_file()
    assert '<section id="extremes">' in page
    assert '<a href="#extremes">' in page
    assert page.index('id="items"') < page.index('id="extremes"') < page.index('id="method"')
    method = page[page.index('id="method"') :]
    assert_mentions(method, "what items share", "occupation")
    assert "target" not in method[: method.index("Limits and citations")]
    content = json.loads(gzip.decompress(base64.b64decode(page.split('id="packed">')[1].split("<")[0])))
    (packed,) = content["sets"]
    assert packed["unit"] == "influence"
    assert all(len(scores) == 2 for item in packed["items"] for scores in item[4:])  # the score and the influence


def test_models_are_compared_by_leaving_out_items(folder: Path) -> None:
    (difference,) = json.loads(run(folder, "compare", "both", "--json").stdout)["differences"]
    values = {
        model: spearmanr(rows["percent_women"], rows["score"]).statistic
        for model, rows in scores_of(folder).groupby("model")
    }
    assert difference["measure"] == "occupation correlation"
    assert difference["difference"] == pytest.approx(values["first"] - values["second"])
    assert -2 <= difference["low"] <= difference["difference"] <= difference["high"] <= 2


def test_it_is_gated(folder: Path) -> None:
    loose = run(folder, "check", "both", "--max", "occupations.occupation correlation distance 1")
    strict = run(folder, "check", "both", "--max", "occupations.occupation correlation distance 0.001")
    assert (loose.returncode, strict.returncode) == (0, 1), loose.stdout + strict.stdout


def test_its_components_conform(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without entry points, which would remain registered for other tests.
    monkeypatch.syspath_prepend(str(EXAMPLES / "tiltmeter-occupations" / "src"))
    form, measures = (import_module(f"tiltmeter_occupations.{name}") for name in ("form", "measures"))
    check_form(form.FORM, [form.OccupationItem("1", "en", "cook", 50, "The cook said that _ was late.")])
    check_measure(measures, scores_of(folder))


def test_the_studio_has_the_page(folder: Path) -> None:
    page = python(folder, "-c", GET_PAGE)
    assert "The nurse said that _ was tired. (nurse, 88% women)" in page.stdout, page.stderr
    assert '<a href="/occupations" aria-current="page">Occupations</a>' in page.stdout


@pytest.fixture
def broken(folder: Path, tmp_path: Path) -> Path:
    """A folder with the run and another plug-in, whose figure and section fail."""
    (tmp_path / "failing.py").write_text(FAILING)
    entries = {"tiltmeter.figures": {"x": "failing:FIGURE"}, "tiltmeter.report_sections": {"x": "failing:SECTION"}}
    write_metadata(tmp_path, "tiltmeter-failing", entries)
    install_example("tiltmeter-occupations", tmp_path)
    (tmp_path / "both").symlink_to(folder / "both")
    return tmp_path


def test_the_report_names_plugins_that_fail(broken: Path) -> None:
    done = run(broken, "report", "both", "--out", "report.html")
    assert done.returncode == 0, done.stderr
    page = (broken / "report.html").read_text(encoding="utf-8")
    for name in ("broken-figure", "broken section"):
        (line,) = [line for line in page.splitlines() if f"&#39;{name}&#39;" in line]
        assert "failing" in line
        assert "ValueError: no &lt;such&gt; thing" in line
    assert '<section id="extremes">' in page
    assert 'id="method"' in page


@pytest.mark.parametrize(
    ("group", "source", "name"),
    [
        ("figures", "from tiltmeter.reports.figures.heat_map import FIGURE as IT", "heat-map"),
        ("report_sections", "from tiltmeter.reports.sections.method import SECTION as IT", "method"),
        ("studio_pages", "from tiltmeter.studio.pages.data import STUDIO_PAGE as IT", "/data"),
    ],
)
def test_a_duplicate_name_is_an_error_with_both_packages(group: str, source: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "again.py").write_text(source)
    write_metadata(tmp_path, "tiltmeter-again", {f"tiltmeter.{group}": {"again": "again:IT"}})
    lists = {
        "figures": "from tiltmeter.reports.figures import list_figures as find",
        "report_sections": "from tiltmeter.reports.sections import list_sections as find",
        "studio_pages": "from tiltmeter.studio.pages import list_studio_pages as find",
    }
    done = python(tmp_path, "-c", f"{lists[group]}\nfind()")
    assert_mentions(done.stderr, "tiltmeter and tiltmeter-again", f"{name!r} (tiltmeter.{group})")
