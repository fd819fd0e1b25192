"""The figures of papers, by paper and number: what they show, and how they are drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.errors import UsageError
from tiltmeter.papers.figures import rank_agreement, rate_charts
from tiltmeter.papers.figures.rate_rows import RateRow, build_rate_rows, group_by_source, select_complete_rows
from tiltmeter.papers.figures.run_rows import list_run_rows, list_run_sizes
from tiltmeter.papers.figures.thesis_figures import NUMBERS, PAPER
from tiltmeter.papers.figures.training_figures import TRAINING_FIGURES
from tiltmeter.papers.figures.validity_points import list_validity_points
from tiltmeter.papers.printed_numbers import PrintedNumber, find_paper
from tiltmeter.papers.reproduction import Reproduction, select_numbers
from tiltmeter.papers.sources.recipe import NotAvailable
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.reports.figures.figure import Figure, Panel
from tiltmeter.reports.report_page import make_report
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class FigureNumbers:
    """The rows of the tables of a figure, and the context that fetches released files."""

    rows: Sequence[RateRow]
    context: RecipeContext


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure of a paper: its caption, the tables whose numbers it shows, and the function that draws it.

    `report` is the name of the figure of a report that shows the same for runs; without it, `draw_runs` draws runs.
    `legend` explains the marks.
    """

    caption: str
    tables: tuple[str, ...] = ()
    draw: Callable[[FigureNumbers], list[Panel]] | None = None
    report: str = ""
    legend: str = "One panel for the printed numbers, one for those that were recomputed:"
    wide: bool = True
    draw_runs: Callable[[Sequence[tuple[str, Result]]], list[Panel]] | None = None


def _draw_rates(numbers: FigureNumbers) -> list[Panel]:
    return rate_charts.draw_rates(numbers.rows)


def _draw_ranks(numbers: FigureNumbers) -> list[Panel]:
    return rate_charts.draw_ranks(group_by_source(select_complete_rows(numbers.rows)))


def _draw_xlm_ranks(numbers: FigureNumbers) -> list[Panel]:
    rows = [row for row in select_complete_rows(numbers.rows) if row.is_xlm]
    return rate_charts.draw_ranks(group_by_source(rows))


def _draw_translation_rates(numbers: FigureNumbers) -> list[Panel]:
    return rate_charts.draw_translation_rates(select_complete_rows(numbers.rows))


def _draw_sizes(numbers: FigureNumbers) -> list[Panel]:
    return rate_charts.draw_sizes(select_complete_rows(numbers.rows))


def _draw_run_sizes(runs: Sequence[tuple[str, Result]]) -> list[Panel]:
    sizes = list_run_sizes(runs)
    rows = [row for row in select_complete_rows(list_run_rows(runs)) if row.template and row.system in sizes]
    return rate_charts.draw_sizes(rows, sizes) if rows else []


def _draw_run_agreement(runs: Sequence[tuple[str, Result]]) -> list[Panel]:
    return rank_agreement.draw_agreement(select_complete_rows(list_run_rows(runs)))


def _draw_heat_map(numbers: FigureNumbers) -> list[Panel]:
    return rate_charts.draw_heat_map(select_complete_rows(numbers.rows))


def _draw_validity(numbers: FigureNumbers) -> list[Panel]:
    return rate_charts.draw_validity(list_validity_points(numbers.context, select_complete_rows(numbers.rows)))


def _draw_agreement(numbers: FigureNumbers) -> list[Panel]:
    return rank_agreement.draw_agreement(select_complete_rows(numbers.rows))


_MARKED = "Hollow: as printed. Filled: recomputed."
_GEST = {
    "2": PaperFigure(
        "f_s against f_m of translation systems",
        ("8",),
        _draw_translation_rates,
        "translation-map",
        legend=_MARKED,
    ),
    "3": PaperFigure("Feminine ranks over translation systems and languages", ("8",), _draw_ranks, "feminine-ranks"),
    "4": PaperFigure(
        "g_s of English models by size and family", ("9", "10"), _draw_sizes, legend=_MARKED, draw_runs=_draw_run_sizes
    ),
    "5": PaperFigure("Feminine ranks over English masked models and templates", ("9",), _draw_ranks, "feminine-ranks"),
    "6": PaperFigure("g_s by model and Slavic language", ("11",), _draw_heat_map, "heat-map"),
    "7": PaperFigure("Feminine ranks over XLM models and Slavic languages", ("11",), _draw_xlm_ranks, "feminine-ranks"),
    "8": PaperFigure("g_s on GEST and on WinoBias of masked models", ("9",), _draw_validity, "validity", _MARKED),
    "9": PaperFigure("g_s of English masked models by template", ("9",), _draw_heat_map, "templates"),
    "10": PaperFigure("g_s of English causal models by template", ("10",), _draw_heat_map, "templates"),
    "11": PaperFigure(
        "Masculine rates of translation systems", ("8",), _draw_rates, "stereotypes", _MARKED, wide=False
    ),
    "12": PaperFigure(
        "Masculine rates of English masked models",
        ("9",),
        _draw_rates,
        "stereotypes",
        legend=_MARKED,
        wide=False,
    ),
    "13": PaperFigure(
        "Masculine rates of English causal models",
        ("10",),
        _draw_rates,
        "stereotypes",
        legend=_MARKED,
        wide=False,
    ),
    "5.1": PaperFigure(
        "Mean ranks of stereotypes in translation systems, English models and Slavic models (text of section 5.1)",
        ("8", "9", "10", "11"),
        _draw_agreement,
        draw_runs=_draw_run_agreement,
    ),
    "14": PaperFigure(
        "Masculine rates of masked models in Slavic languages",
        ("11",),
        _draw_rates,
        "stereotypes",
        legend=_MARKED,
        wide=False,
    ),
}
FIGURES: Mapping[str, Mapping[str, PaperFigure]] = {
    "gest2024": _GEST,
    "steinborn2022": {"2": PaperFigure("S_more - S_less of the sentence pairs", report="differences")},
}


def find_figure(paper: str, number: str) -> PaperFigure:
    """Return a figure of a paper; raise UsageError if it is not known."""
    if number in TRAINING_FIGURES.get(paper, {}):
        raise UsageError(
            f"Figure {number} of {paper} shows a training; give the folder of a trained head with --runs HEAD."
        )
    figures = FIGURES.get(find_paper(paper).key, {})
    others = (*(NUMBERS if paper == PAPER else ()), *TRAINING_FIGURES.get(paper, ()))
    if number not in figures:
        known = ", ".join((*figures, *others))
        known = f"choose {known}" if known else "no figure of this paper can be drawn"
        raise UsageError(f"{paper} has no figure {number!r} here; {known}.")
    return figures[number]


def list_figure_numbers(paper: str, number: str) -> list[PrintedNumber]:
    """Return the printed numbers that a figure shows; raise UsageError if it shows the items of runs instead."""
    figure = find_figure(paper, number)
    if figure.draw is None:
        raise UsageError(
            f"Figure {number} of {paper} shows items, which were not released; run the models with --from-models --out "
            "FOLDER, then draw the figure with --runs FOLDER."
        )
    return [printed for table in figure.tables for printed in select_numbers(paper, table=table)]


def draw_numbers(paper: str, number: str, reproduction: Reproduction, context: RecipeContext) -> Figure:
    """Return a figure with the printed numbers and, beside them, those that could be recomputed."""
    figure = find_figure(paper, number)
    assert figure.draw is not None, "list_figure_numbers rejects figures without numbers"
    rows = build_rate_rows(reproduction.outcomes)
    counts = ", ".join(f"{len(group)} rows {source}" for source, group in group_by_source(rows).items())
    try:
        panels = figure.draw(FigureNumbers(rows, context))
    except NotAvailable as reason:
        raise UsageError(f"Figure {number} of {paper} needs a released file. {reason}") from reason
    return Figure(
        f"figure-{number}",
        f"Figure {number}: {figure.caption}",
        f"{figure.legend} {counts}.",
        tuple(panels),
        wide=figure.wide,
    )


def draw_runs(paper: str, number: str, runs: Sequence[tuple[str, Result]]) -> list[tuple[str, Figure]]:
    """Return a figure with the numbers of runs, in the form of a report: pairs of a benchmark and its figure."""
    figure = find_figure(paper, number)
    if figure.draw_runs:
        panels = tuple(figure.draw_runs(runs))
        shown = Figure(f"figure-{number}", f"Figure {number}: {figure.caption}", "Numbers of runs.", panels)
        found = [(paper, shown)] if panels else []
    else:
        _, drawn = make_report(runs)
        found = [(benchmark, one) for benchmark, one in drawn if one.slug == figure.report]
    if not found:
        raise UsageError(f"The runs have no numbers for Figure {number} of {paper}, {figure.caption}.")
    return found
