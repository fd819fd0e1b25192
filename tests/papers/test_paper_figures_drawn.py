"""Figures of papers: the printed and the recomputed numbers of a table, or the numbers of runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.runs.made import gest_scores, pair_scores, run, saved
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.forms.gest import FEMALE, MALE, STEREOTYPES
from tiltmeter.papers.figures.paper_figures import FIGURES, draw_runs, find_figure, list_figure_numbers
from tiltmeter.papers.figures.point_labels import place_names
from tiltmeter.papers.figures.rank_agreement import compute_mean_ranks, draw_agreement
from tiltmeter.papers.figures.rate_charts import (
    draw_heat_map,
    draw_rates,
    draw_sizes,
    draw_translation_rates,
    load_sizes,
)
from tiltmeter.papers.figures.rate_rows import Rate, RateRow, build_rate_rows
from tiltmeter.papers.reproduction import ReproducedNumber, ReproductionStatus
from tiltmeter.papers.sources.gest_tables import load_names


def outcomes(table: str, factor: float = 1.0) -> list[ReproducedNumber]:
    """The printed numbers of a table; those of the first model are recomputed as `factor` times the printed ones."""
    numbers = [n for n in list_figure_numbers("gest2024", "5.1") if n.table == table]
    first = numbers[0].cell["system"]
    return [
        ReproducedNumber(
            n, ReproductionStatus.AGREES, "", float(n.text) * factor if n.cell["system"] == first else None
        )
        for n in numbers
    ]


def made_row(table: str, male: float, female: float) -> RateRow:
    rates = {number: Rate(male if number in MALE else female) for number in STEREOTYPES}
    return RateRow(table, "gpt2", "en", "1", "printed", rates)


def test_rates_of_rows() -> None:
    assert made_row("8", 0.9, 0.6).stereotype_rate == pytest.approx(0.3)
    assert made_row("10", 1.5, 1.2).stereotype_rate == pytest.approx(1.25)
    ranks = made_row("8", 0.9, 0.6).rank_stereotypes()
    assert {ranks[number] for number in FEMALE} == {4.0}
    assert {ranks[number] for number in MALE} == {12.0}


def test_printed_and_recomputed_rows_stand_side_by_side() -> None:
    rows = build_rate_rows(outcomes("8", factor=0.5))
    printed = [row for row in rows if row.source == "printed"]
    recomputed = {row.language: row for row in rows if row.source == "recomputed"}
    assert len(printed) == 32
    assert all(row.is_complete for row in rows)
    assert {row.system for row in recomputed.values()} == {"AmazonTranslate"}
    first = next(row for row in printed if row.system == "AmazonTranslate" and row.language == "ru")
    assert first.rates[1] == Rate(0.32, 0.26, 0.39)
    assert recomputed["ru"].rates[1] == Rate(0.16, 0.13, 0.195)


def test_charts_have_a_point_for_each_row() -> None:
    rows = build_rate_rows(outcomes("8"))
    (panel,) = draw_translation_rates(rows)
    data = max(panel.chart.to_dict()["datasets"].values(), key=len)
    assert len(data) == len(rows)
    ru = next(point for point in data if point["system"] == "AmazonTranslate" and point["language"] == "ru")
    assert ru["f_m"] < 0.5  # the only case where the feminine gender is used more often (section 4.1.3)
    assert [panel.title for panel in draw_rates(rows)] == ["AmazonTranslate", "DeepL", "GoogleTranslate", "NLLB"]
    causal = build_rate_rows(outcomes("10"))
    (panel,) = draw_sizes(causal)
    data = max(panel.chart.to_dict()["datasets"].values(), key=len)
    assert {point["family"] for point in data} == {"GPT-2", "Pythia", "Mistral", "Phi", "Llama 2"}
    assert [panel.title for panel in draw_heat_map(causal)] == ["printed", "recomputed"]


def test_every_model_has_a_size() -> None:
    assert {system for table, system in load_names() if table in ("9", "10")} == set(load_sizes())


def test_the_order_of_stereotypes_agrees_between_experiments() -> None:
    rows = [row for table in ("8", "9", "10", "11") for row in build_rate_rows(outcomes(table))]
    ranks = compute_mean_ranks([row for row in rows if row.source == "printed"])
    assert list(ranks) == ["translation systems", "English models", "Slavic XLM models"]
    assert min(ranks["translation systems"], key=ranks["translation systems"].get) == 7  # women are beautiful
    titles = [panel.title for panel in draw_agreement([row for row in rows if row.source == "printed"])]
    assert all(float(title.rpartition(" ")[2]) > 0.8 for title in titles)
    assert len(titles) == 3


@pytest.mark.parametrize(("paper", "number"), [(paper, number) for paper, own in FIGURES.items() for number in own])
def test_every_figure_has_a_source(paper: str, number: str) -> None:
    figure = find_figure(paper, number)
    assert bool(figure.report) != bool(figure.draw_runs)
    assert bool(figure.draw) == bool(figure.tables)


def test_sizes_and_ranks_of_runs() -> None:
    masked = run(gest_scores("made/masked", n=320), family="gest")
    causal = run(gest_scores("made/causal", n=320, seed=1), family="gest", kind="causal")
    runs = []
    for result in (masked, causal):
        sized = [replace(entry, parameters=5_000_000) for entry in result.manifest.models]
        runs.append(("run", replace(result, manifest=replace(result.manifest, models=sized))))
    ((_, sizes),) = draw_runs("gest2024", "4", runs)
    points = max(sizes.panels[0].chart.to_dict()["datasets"].values(), key=len)
    assert {(point["name"], point["parameters"]) for point in points} == {("made/masked", 5e6), ("made/causal", 5e6)}
    with raises_mentioning(UsageError, "Figure 5.1"):  # one experiment only
        draw_runs("gest2024", "5.1", runs)


def test_names_do_not_overlap() -> None:
    points = [(100.0, 50.0), (104.0, 52.0), (100.0, 50.0), (195.0, 60.0)]
    places = place_names(points, ["first", "second", "", "third"], (200, 100))
    assert places[2] is None
    assert places[0] != places[1]
    assert getattr(places[3], "align", "") == "right"  # at the right edge of the chart


def test_the_command_draws_figures_from_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    folder = saved(tmp_path / "run", run(pair_scores("bert", n=40), family="pairs"))
    figures = str(tmp_path / "figures")
    assert (
        command(monkeypatch, "reproduce", "steinborn2022", "--figure", "2", "--runs", folder, "--figures", figures) == 0
    )
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".svg", ".png", ".pdf"}
    for options, parts in (
        (("steinborn2022", "--figure", "2"), ["--runs"]),
        (("steinborn2022", "--figure", "3"), ["'3'", "2"]),
        (("oeztuerk2023", "--figure", "1"), ["--runs HEAD"]),
        (("nadeem2021", "--figure", "1"), ["nadeem2021"]),
        (("gest2024", "--figure", "4", "--runs", folder), ["Figure 4"]),
        (("gest2024", "--figure", "2", "--runs", folder), ["Figure 2"]),
        (("gest2024", "--figure", "2", "--table", "8"), ["--table"]),
        (("gest2024", "--figures", figures), ["--figures"]),
    ):
        assert command(monkeypatch, "reproduce", *options) == 2
        assert_mentions(capsys.readouterr().err, *parts)
