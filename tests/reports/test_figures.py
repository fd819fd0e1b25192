import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import vl_convert

from tests.reports import made
from tiltmeter.errors import UsageError
from tiltmeter.reports.figures import Figure, figures_of
from tiltmeter.reports.gather import gather
from tiltmeter.reports.page import models_of
from tiltmeter.reports.save import save_figures
from tiltmeter.runs.result import Result


def figures(result: Result) -> dict[str, Figure]:
    gathered = gather([("run", result)])
    return {f.slug: f for f in figures_of(gathered.records, gathered.scores, models_of(gathered.records))}


@pytest.fixture(scope="module")
def drawn() -> dict[str, Figure]:
    """One figure of each kind, by its name."""
    return {
        **figures(made.association(["ada", "bea"])),
        **{f"{slug} of pairs": figure for slug, figure in figures(made.pairs(["ada", "bea"])).items()},
        **{f"{slug} of gest": figure for slug, figure in figures(made.gest(["ada", "bea"])).items()},
        **{f"{slug} of mt": figure for slug, figure in figures(made.translations(["ada", "bea"])).items()},
    }


def test_every_form_of_data_has_its_figures(drawn: dict[str, Figure]) -> None:
    assert list(drawn) == [
        "tilt-map",
        "heat-map",
        "bias-types",
        "heat-map of pairs",
        "bias-types of pairs",
        "differences of pairs",
        "heat-map of gest",
        "stereotypes of gest",
        "feminine-ranks of gest",
        "translation-map of mt",
        "heat-map of mt",
        "stereotypes of mt",
        "feminine-ranks of mt",
    ]


def test_all_are_vega_lite_that_can_be_drawn(drawn: dict[str, Figure]) -> None:
    for figure in drawn.values():
        for spec in figure.specs():
            vega = vl_convert.vegalite_to_vega(spec)
            assert vega["marks"]
            assert '"legends"' not in json.dumps(vega)  # the page has them beside its charts
        svg = vl_convert.vegalite_to_svg(figure.paper())
        assert svg.startswith("<svg")
        assert "NaN" not in svg
        assert "var(--" not in svg  # colours of the page mean nothing in a file


def texts(figure: Figure) -> list[str]:
    return re.findall(r">([^<>]+)</text>", vl_convert.vegalite_to_svg(figure.paper()))


def test_the_tilt_map_has_a_point_for_each_model_and_language(drawn: dict[str, Figure]) -> None:
    assert [key.label for key in drawn["tilt-map"].legend] == ["ada", "bea", "German", "English"]
    shown = texts(drawn["tilt-map"])
    assert (shown.count("en"), shown.count("de")) == (2, 2)


def test_the_forest_has_a_panel_for_each_language_and_a_row_for_each_bias_type(drawn: dict[str, Figure]) -> None:
    figure = drawn["bias-types"]
    assert sorted(panel.title for panel in figure.panels) == ["English", "German"]
    assert {"gender", "profession", "race", "religion", "all"} <= set(texts(figure))


def test_the_heat_map_marks_what_is_more_than_noise() -> None:
    result = made.association(["ada", "bea"])
    sure = [replace(r, p_value=0.001 if r.model == "ada" else 0.5) if r.measure == "SS" else r for r in result.records]
    shown = texts(figures(replace(result, records=sure))["heat-map"])
    assert sum(text.endswith(" •") for text in shown) == 2


def test_women_and_men_are_apart(drawn: dict[str, Figure]) -> None:
    figure = drawn["stereotypes of gest"]
    assert [key.label for key in figure.legend] == ["stereotypes about women", "stereotypes about men"]
    assert [panel.title for panel in figure.panels] == ["ada", "bea"]
    names = [text for text in texts(figure) if re.match(r"\d+ (wo)?men ", text)]
    assert len(names) == 32


def test_without_intervals() -> None:
    for slug, figure in figures(made.association(["ada"], resamples=0)).items():
        assert vl_convert.vegalite_to_svg(figure.paper()), slug


def test_one_model_and_language_needs_no_heat_map_and_no_legend() -> None:
    found = figures(made.association(["ada"], "starter:en"))
    assert list(found) == ["tilt-map", "bias-types"]
    assert found["tilt-map"].legend == ()


def test_names_that_look_like_code_are_text() -> None:
    result = made.association(["<b>ada</b>", "datum['x'] \" \\"])
    shown = texts(figures(result)["heat-map"])
    assert "&lt;b&gt;ada&lt;/b&gt;" in shown


def test_files_for_papers(tmp_path: Path, drawn: dict[str, Figure]) -> None:
    written = save_figures([("starter", drawn["heat-map"])], tmp_path / "figures")
    assert [path.name for path in written] == [f"starter-heat-map.{suffix}" for suffix in ("svg", "png", "pdf")]
    assert [path.read_bytes()[:4] for path in written] == [b"<svg", b"\x89PNG", b"%PDF"]
    with pytest.raises(UsageError, match="is a file, not a folder"):
        save_figures([], written[0])
