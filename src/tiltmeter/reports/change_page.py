"""The HTML page, the figure and the LaTeX table of `tiltmeter compare --before --after`."""

from dataclasses import replace

from tiltmeter.comparing.model_change import ModelChange
from tiltmeter.reports.change_printout import describe_change_method, describe_flips
from tiltmeter.reports.change_tables import build_change_table, build_reduced_table
from tiltmeter.reports.comparison_page import list_disagreements
from tiltmeter.reports.contrast_page import (
    build_section,
    build_table_section,
    list_table_rows,
    render_page,
    render_svg,
)
from tiltmeter.reports.display_text import format_label
from tiltmeter.reports.figures import Figure
from tiltmeter.reports.figures.change_map import build_change_map
from tiltmeter.reports.text_table import format_latex_table


def render_change_page(change: ModelChange, *, items: int | None = 200) -> str:
    """Return the HTML page with at most `items` flipped items for each target, or with all if `items` is None."""
    table, figure = build_change_table(change), build_change_figure(change)
    results = build_section(table.title, [], table.heads, list_table_rows(table))
    sections = [
        build_section("Answer", [change.sentence]),
        replace(results, figure=render_svg(figure), caption=figure.caption),
    ]
    if change.overlaps:
        sentences = [overlap.sentence for overlap in change.overlaps]
        sections.append(build_section("Overlap with the tuning texts", sentences))
    if change.without_overlap:
        sections.append(build_table_section(build_reduced_table(change)))
    targets = [row.difference for row in change.select_rows("target")]
    flipped = build_section("Items that flipped", describe_flips(change))
    sections.append(replace(flipped, items=tuple(list_disagreements(targets, items))))
    return render_page("Did the change help?", sections, change.notes, describe_change_method(change))


def build_change_figure(change: ModelChange) -> Figure:
    """Return the figure of all results before and after the change."""
    return build_change_map(f"{format_label(change.before)} → {format_label(change.after)}", change.rows)


def format_change_latex(change: ModelChange) -> str:
    """Return the table of all results as LaTeX; the document needs the package booktabs."""
    table = build_change_table(change)
    caption = f"{table.title}: {change.sentence} Bold: significant after Holm's correction."
    return format_latex_table(table, caption) + "\n"
