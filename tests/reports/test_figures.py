import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from tests.reports import made
from tests.runs.made import chosen_scores, pair_scores, run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.measures.verdict import Verdict
from tiltmeter.reports.benchmark_sections import list_models
from tiltmeter.reports.combined_runs import combine_runs
from tiltmeter.reports.figure_files import save_figures
from tiltmeter.reports.figures import Figure, FigureData, build_figures
from tiltmeter.reports.record_rows import build_rows
from tiltmeter.reports.verdict_text import list_summary_verdicts
from tiltmeter.runs.result import Result


def figures(result: Result) -> dict[str, Figure]:
    return figures_of(("run", result))


def figures_of(*runs: tuple[str, Result]) -> dict[str, Figure]:
    """The figures of runs on one benchmark, by slug."""
    gathered = combine_runs(runs)
    (name,) = {record.benchmark for record in gathered.records}
    data = FigureData.select(name, gathered.records, gathered.scores, list_models(gathered.records))
    return {figure.slug: figure for figure in build_figures(data)}


@pytest.fixture(scope="module")
def drawn() -> dict[str, Figure]:
    """The figures of a run by slug."""
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
        "templates of gest",
        "stereotypes of gest",
        "feminine-ranks of gest",
        "translation-map of mt",
        "heat-map of mt",
        "stereotypes of mt",
        "feminine-ranks of mt",
    ]


def test_all_are_vega_lite_that_can_be_drawn(drawn: dict[str, Figure]) -> None:
    for figure in drawn.values():
        for spec in figure.build_specs():
            vega = vl_convert.vegalite_to_vega(spec)
            assert vega["marks"]
            assert '"legends"' not in json.dumps(vega)  # in a page, legends are outside the charts
        svg = vl_convert.vegalite_to_svg(figure.build_combined_spec())
        assert svg.startswith("<svg")
        assert "NaN" not in svg
        assert "var(--" not in svg  # the colours of the page are not defined in a file


def rows(chart: Any) -> list[dict[str, Any]]:
    return [row for table in chart.to_dict()["datasets"].values() for row in table]


def texts(figure: Figure) -> list[str]:
    return re.findall(r">([^<>]+)</text>", vl_convert.vegalite_to_svg(figure.build_combined_spec()))


def test_the_tilt_map_has_a_point_for_each_model_and_language(drawn: dict[str, Figure]) -> None:
    assert [key.label for key in drawn["tilt-map"].legend] == ["ada", "bea", "German", "English"]
    shown = texts(drawn["tilt-map"])
    assert (shown.count("en"), shown.count("de")) == (2, 2)


def test_the_tilt_map_draws_both_ends_of_both_intervals() -> None:
    result = made.association(["ada"])
    summary: dict[str, dict[str, Any]] = {record.language: {} for record in result.records}
    for record in result.records:
        if record.view == "all" and record.part == "overall" and record.measure in ("SS", "LMS"):
            summary[record.language][record.measure] = record
    (panel,) = figures(result)["tilt-map"].panels
    chart = panel.chart.to_dict()
    points = {row["name"]: row for row in rows(panel.chart) if "ss_low" in row}
    assert points.keys() == summary.keys()
    for language, records in summary.items():
        ss, lms, point = records["SS"], records["LMS"], points[language]
        assert ss.low < ss.value < ss.high
        assert (point["ss_low"], point["ss"], point["ss_high"]) == (ss.low, ss.value, ss.high)
        assert (point["lms_low"], point["lms"], point["lms_high"]) == (lms.low, lms.value, lms.high)
    drawn_ends = [
        (encoding.get("x", {}).get("field"), encoding["x2"]["field"])
        for encoding in (layer["encoding"] for layer in chart["layer"])
        if "x2" in encoding
    ]
    assert drawn_ends == [("ss_low", "ss_high")]


def test_the_forest_has_a_panel_for_each_language_and_a_row_for_each_bias_type(drawn: dict[str, Figure]) -> None:
    figure = drawn["bias-types"]
    assert sorted(panel.title for panel in figure.panels) == ["English", "German"]
    assert {"gender", "profession", "race", "religion", "all"} <= set(texts(figure))


def test_the_heat_map_marks_a_significant_bias() -> None:
    result = made.association(["ada", "bea"])
    verdicts = {"ada": Verdict("significant", "towards"), "bea": Verdict("inconclusive")}
    sure = [replace(r, verdict=verdicts[r.model]) if r.measure == "SS" else r for r in result.records]
    shown = texts(figures(replace(result, records=sure))["heat-map"])
    assert sum(text.endswith(" •") for text in shown) == 2


def test_what_cannot_be_interpreted_has_no_colour_and_a_question_mark() -> None:
    tables = [
        chosen_scores("sure", 62.0, n=400),
        chosen_scores("senseless", 62.0, n=400, sense=False),
        chosen_scores("torn", {"intrasentence": 60.0, "intersentence": 40.0}, n=600),
    ]
    figure = figures(run(*tables))["heat-map"]
    overall = figure.panels[0].chart.to_dict()
    cells = {cell["model"]: cell for cell in next(iter(overall["datasets"].values()))}
    assert {name: cell["cell"] for name, cell in cells.items()} == {
        "sure": "62.0 •",
        "senseless": "62.0 ?",
        "torn": "50.0 ?",
    }
    assert (cells["sure"]["shade"], cells["senseless"]["shade"]) == (pytest.approx(62.0), 50.0)
    assert_mentions(figure.caption, "question mark", "not interpretable")
    # Contradictory parts have panels of their own.
    assert [panel.title for panel in figure.panels] == ["overall", "intrasentence", "intersentence"]


def test_models_of_different_kinds_do_not_share_a_heat_map() -> None:
    kinds = {"ada": "masked", "bea": "causal", "cleo": "causal"}
    by_slug = figures(made.association(list(kinds), kinds=kinds))
    assert [panel.title for panel in by_slug["heat-map"].panels] == ["masked", "causal"]
    shown = [{cell["model"] for cell in rows(panel.chart)} for panel in by_slug["heat-map"].panels]
    assert shown == [{"ada"}, {"bea", "cleo"}]
    for slug in ("heat-map", "tilt-map", "bias-types"):
        assert_mentions(by_slug[slug].caption, "not comparable")
    alike = figures(made.association(["ada", "bea"]))
    assert [panel.title for panel in alike["heat-map"].panels] == [""]
    assert not any("not comparable" in figure.caption for figure in alike.values())


def test_protocols_do_not_share_a_heat_map() -> None:
    tables = [chosen_scores("mgpt", 54.0, protocol="published/d"), chosen_scores("gpt2", 54.0, protocol="published/c")]
    by_slug = figures(run(*tables, kind="causal"))
    assert [panel.title for panel in by_slug["heat-map"].panels] == ["published/c", "published/d"]
    head = run(chosen_scores("mgpt", 54.0, protocol="published"), kind="causal", answers="next-sentence")
    likely = run(chosen_scores("gpt2", 54.0, protocol="published"), kind="causal")
    by_slug = figures_of(("head", head), ("likely", likely))
    assert [panel.title for panel in by_slug["heat-map"].panels] == ["next-sentence", "likelihood"]


def test_the_heat_map_is_of_the_measure_that_gives_the_verdict() -> None:
    result = run(pair_scores("a", seed=1), pair_scores("b", seed=2), family="pairs")
    deciding = {v.record.measure for v in list_summary_verdicts(build_rows(result.records))}
    assert deciding == {"CPS"}
    assert figures(result)["heat-map"].title == "CPS by model and language"


def test_each_target_term_has_a_row_with_a_warning() -> None:
    figure = figures(run(chosen_scores(ss=55.0, n=400)))["target-terms"]
    assert_mentions(figure.caption, "unreliable", "reliability .25")
    assert figure.folded
    terms = [text for text in texts(figure) if text.startswith("target ")]
    assert sorted(terms) == sorted(f"target {number}" for number in range(20))
    values = [cell["value"] for cell in rows(figure.panels[0].chart) if "group" in cell]
    assert values == sorted(values, reverse=True)
    few = figures(run(chosen_scores(ss=55.0, n=60)))
    assert "target-terms" not in few  # three items are too few for a term


def test_parts_that_contradict_each_other_are_drawn_each_by_itself() -> None:
    contradictory = chosen_scores(ss={"intrasentence": 60.0, "intersentence": 40.0}, n=600)
    figure = figures(run(contradictory))["bias-types"]
    assert [panel.title for panel in figure.panels] == ["English, intrasentence", "English, intersentence"]
    agreed = figures(run(chosen_scores(ss=60.0, n=600)))["bias-types"]
    assert [panel.title for panel in agreed.panels] == ["English"]


def test_women_and_men_are_apart(drawn: dict[str, Figure]) -> None:
    figure = drawn["stereotypes of gest"]
    kinds, templates = figure.legend[:2], figure.legend[2:]
    assert [key.label for key in kinds] == ["stereotypes about women", "stereotypes about men"]
    assert len({key.shape for key in templates}) == len(templates) == 2  # each template has its own shape
    assert [panel.title for panel in figure.panels] == ["ada", "bea"]
    names = [text for text in texts(figure) if re.match(r"\d+ (wo)?men ", text)]
    assert len(names) == 32


def test_without_intervals() -> None:
    for slug, figure in figures(made.association(["ada"], intervals=False)).items():
        assert vl_convert.vegalite_to_svg(figure.build_combined_spec()), slug


def test_one_model_and_language_needs_no_heat_map_and_no_legend() -> None:
    by_slug = figures(made.association(["ada"], "starter:en"))
    assert list(by_slug) == ["tilt-map", "bias-types"]
    assert by_slug["tilt-map"].legend == ()


def test_names_that_look_like_code_are_text() -> None:
    result = made.association(["<b>ada</b>", "datum['x'] \" \\"])
    shown = texts(figures(result)["heat-map"])
    assert "&lt;b&gt;ada&lt;/b&gt;" in shown


def test_files_for_papers(tmp_path: Path, drawn: dict[str, Figure]) -> None:
    written = save_figures([("starter", drawn["heat-map"])], tmp_path / "figures")
    assert [path.name for path in written] == [f"starter-heat-map.{suffix}" for suffix in ("svg", "png", "pdf")]
    assert [path.read_bytes()[:4] for path in written] == [b"<svg", b"\x89PNG", b"%PDF"]
    with raises_mentioning(UsageError, str(written[0]), "not a folder"):
        save_figures([], written[0])
