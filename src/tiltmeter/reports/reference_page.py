"""The HTML page, the figures and the LaTeX tables of `tiltmeter compare --with`."""

from collections.abc import Iterable
from dataclasses import replace

from tiltmeter.comparing.reference_position import Position, ReferenceComparison
from tiltmeter.reports.contrast_page import ContrastSection, build_section, list_table_rows, render_page, render_svg
from tiltmeter.reports.display_text import format_label
from tiltmeter.reports.figure_names import build_slug, choose_unique_slug, format_benchmark_name
from tiltmeter.reports.figures import Figure
from tiltmeter.reports.figures.reference_map import build_reference_map
from tiltmeter.reports.reference_texts import (
    build_position_table,
    describe_position,
    describe_reference_method,
    format_position_title,
    list_answers,
    list_details,
    list_leading_positions,
)
from tiltmeter.reports.text_table import format_latex_table


def render_reference_page(comparison: ReferenceComparison) -> str:
    """Return the HTML page of a comparison with reference models; the first section is the answer."""
    leading = list_leading_positions(comparison.positions)
    others = [position for position in comparison.positions if not any(position is one for one in leading)]
    sections = [build_section("Answer", list_answers(comparison))]
    sections += [_build_position_section(position, list_details(position)) for position in leading]
    sections += [
        _build_position_section(position, [describe_position(position), *list_details(position)]) for position in others
    ]
    return render_page(
        "How does the model compare with reference models?",
        sections,
        comparison.notes,
        describe_reference_method(comparison),
    )


def build_reference_figures(comparison: ReferenceComparison) -> list[tuple[str, Figure]]:
    """Return a list of (name of the benchmark, figure), one for each position; `save_figures` needs this list."""
    figures = []
    taken: dict[str, set[str]] = {}
    for position in comparison.positions:
        if position.standings:
            benchmark = format_benchmark_name(position.cell.benchmark)
            slug = choose_unique_slug(_name_figure(position), taken.setdefault(benchmark, set()))
            figures.append((benchmark, _build_figure(position, slug)))
    return figures


def format_reference_latex(comparison: ReferenceComparison) -> str:
    r"""Return a table for each position as LaTeX; the document needs `\usepackage{booktabs}`."""
    tables = [
        format_latex_table(
            build_position_table(position), f"{format_position_title(position)}. {describe_position(position)}"
        )
        for position in comparison.positions
        if position.standings
    ]
    return "\n\n".join(tables) + "\n"


def _build_position_section(position: Position, sentences: Iterable[str]) -> ContrastSection:
    if not position.standings:
        return build_section(format_position_title(position), sentences)
    table = build_position_table(position)
    section = build_section(table.title, sentences, table.heads, list_table_rows(table))
    figure = _build_figure(position, _name_figure(position))
    return replace(section, figure=render_svg(figure), caption=figure.caption)


def _build_figure(position: Position, slug: str) -> Figure:
    return build_reference_map(slug, format_label(format_position_title(position), 120), position)


def _name_figure(position: Position) -> str:
    cell = position.cell
    part = cell.part if cell.part != "all" else ""
    return build_slug([cell.model, part, cell.language, position.quantity.name, "among references"])
