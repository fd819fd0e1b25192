"""Figures as in the papers: g_s by template, GEST against WinoBias, quartiles and means of differences."""

import statistics
from typing import Any

import pytest
from scipy.stats import pearsonr

from tests.reports import made
from tests.reports.test_figures import figures, rows, texts
from tests.runs.made import pair_scores, run
from tests.support.messages import assert_mentions
from tiltmeter.measures.pairs import compute_pair_differences
from tiltmeter.measures.records import Record
from tiltmeter.reports.benchmark_sections import CompiledFigure, build_sections
from tiltmeter.reports.combined_runs import combine_runs
from tiltmeter.reports.figures import FigureData
from tiltmeter.reports.figures.differences import draw_differences
from tiltmeter.reports.figures.validity_map import draw_validity_figure
from tiltmeter.runs.result import Result

FIVE = ["ada", "bea", "cleo", "dora", "eve"]


def by_slug(*results: Result) -> dict[str, CompiledFigure]:
    sections = build_sections(combine_runs([(str(number), result) for number, result in enumerate(results)]))
    return {f"{section.slug} {drawn.figure.slug}": drawn for section in sections for drawn in section.figures}


def test_g_s_is_drawn_for_each_model_and_template() -> None:
    result = made.gest(["ada", "bea"])
    figure = figures(result)["templates"]
    assert [key.label for key in figure.legend] == ['"…", he said.', '"…", the man said.']
    assert len({key.shape for key in figure.legend}) == 2
    (panel,) = figure.panels
    drawn = {(row["model"], row["part"]): row for row in rows(panel.chart) if "part" in row}
    records = {
        (r.model, r.part): r
        for r in result.records
        if r.measure == "g_s" and r.view == "all" and r.part.startswith("template")
    }
    assert drawn.keys() == records.keys()
    assert len(records) == 4
    for key, r in records.items():
        assert (drawn[key]["low"], drawn[key]["value"], drawn[key]["high"]) == (r.low, r.value, r.high)


def test_a_single_template_needs_no_figure() -> None:
    assert "templates" not in figures(made.gest(["ada", "bea"], parts=["template-3"]))


def test_templates_of_models_that_are_not_comparable_are_in_panels_of_their_own() -> None:
    kinds = {"ada": "masked", "bea": "causal"}
    figure = figures(made.gest(list(kinds), kinds=kinds))["templates"]
    assert [panel.title for panel in figure.panels] == ["masked", "causal"]
    assert [{row["model"] for row in rows(panel.chart) if "model" in row} for panel in figure.panels] == [
        {"ada"},
        {"bea"},
    ]


def g_s(result: Result, part: str) -> dict[str, Record]:
    found = [r for r in result.records if r.measure == "g_s" and r.view == "all" and r.part == part]
    return {r.model: r for r in found}


def test_gest_is_drawn_against_winobias() -> None:
    gest, winobias = made.gest(FIVE), made.winobias(FIVE)
    drawn = by_slug(gest, winobias)
    assert [name for name in drawn if name.endswith(" validity")] == ["starter-gest validity"]
    figure = drawn["starter-gest validity"].figure
    (panel,) = figure.panels
    points = {row["model"]: row for row in rows(panel.chart) if "model" in row}
    on_gest, on_winobias = g_s(gest, "overall"), g_s(winobias, "type1-test")
    assert list(points) == FIVE
    for model, point in points.items():
        for name, r in (("gest", on_gest[model]), ("winobias", on_winobias[model])):
            assert (point[f"{name}_low"], point[name], point[f"{name}_high"]) == (r.low, r.value, r.high)
    expected = pearsonr([on_gest[m].value for m in FIVE], [on_winobias[m].value for m in FIVE]).statistic
    assert_mentions(figure.caption, "Over 5 models", f"r is {expected:.2f} [")
    assert [key.label for key in figure.legend] == FIVE


def test_kinds_of_models_have_correlations_of_their_own() -> None:
    kinds = {**dict.fromkeys(FIVE, "masked"), "finn": "causal", "gil": "causal"}
    gest, winobias = made.gest(list(kinds), parts=["template-3"], kinds=kinds), made.winobias(list(kinds), kinds)
    (figure,) = draw_validity_figure(FigureData(gest.records, gest.scores, list(kinds), winobias.records))
    assert [panel.title for panel in figure.panels] == ["masked", "causal"]
    assert_mentions(figure.caption, "5 models (masked) Pearson's", "four models (causal):")


@pytest.mark.parametrize("on_winobias", [[], ["ada"], ["someone else", "another"]])
def test_fewer_than_two_models_with_both_are_not_drawn(on_winobias: list[str]) -> None:
    more = made.winobias(on_winobias).records if on_winobias else []
    gest = made.gest(["ada", "bea"], parts=["template-3"])
    data = FigureData(gest.records, gest.scores, ["ada", "bea", *on_winobias], more)
    assert not list(draw_validity_figure(data))


def boxes(chart: Any) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["model"], row["language"]): row for row in rows(chart) if "median" in row}


def test_differences_have_the_quartiles_and_the_mean() -> None:
    table = compute_pair_differences(run(pair_scores("a", seed=1), pair_scores("b", seed=2), family="pairs").scores)
    drawn = boxes(draw_differences(table, ["a", "b"]))
    assert drawn.keys() == {("a", "English"), ("b", "English")}
    assert len({box["lane"] for box in drawn.values()}) == 2
    for (model, _), box in drawn.items():
        values = sorted(table.loc[table["model"] == model, "difference"])
        quartiles = statistics.quantiles(values, n=4, method="inclusive")
        assert [box["lower"], box["median"], box["upper"]] == pytest.approx(quartiles)
        assert box["mean"] == pytest.approx(statistics.fmean(values))
        reach = 1.5 * (quartiles[2] - quartiles[0])
        assert box["low"] == min(value for value in values if value >= quartiles[0] - reach)
        assert box["high"] == max(value for value in values if value <= quartiles[2] + reach)


def test_pairs_that_are_all_alike_have_a_box_without_width() -> None:
    table = compute_pair_differences(run(pair_scores("a", seed=1), family="pairs").scores).assign(difference=0.5)
    (box,) = boxes(draw_differences(table, ["a"])).values()
    assert {box[name] for name in ("low", "lower", "median", "upper", "high", "mean")} == {0.5}


def test_the_caption_says_what_the_box_is() -> None:
    figure = figures(made.pairs(["ada"]))["differences"]
    assert "quartiles" in figure.caption
    assert "mean" in figure.caption
    assert "English" in texts(figure)
