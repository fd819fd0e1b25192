"""The HTML pages of `tiltmeter compare --html` with --group and --size, and the parts of similar pages.

The pages contain no scripts.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import vl_convert
from markupsafe import Markup

import tiltmeter
from tiltmeter.comparing.group_difference import GroupComparison
from tiltmeter.comparing.size_slopes import SizeComparison
from tiltmeter.measures.crossed_effects import MemberInference
from tiltmeter.reports.comparison import group_by_pair
from tiltmeter.reports.comparison_page import DisagreementList
from tiltmeter.reports.display_text import clip_text, format_label
from tiltmeter.reports.figure_names import build_slug, format_benchmark_name
from tiltmeter.reports.figures import Figure
from tiltmeter.reports.figures.size_map import build_size_map
from tiltmeter.reports.group_comparison import (
    HEADS,
    describe_contrast,
    describe_group_method,
    format_cells,
)
from tiltmeter.reports.page_templates import load_template, read_template_file
from tiltmeter.reports.size_trends import (
    SIZE_HEADS,
    describe_size_method,
    describe_trend,
    format_size_cells,
    format_title,
    group_by_measure,
)
from tiltmeter.reports.text_table import TextTable

# Figures and tables use inline styles, so inline styles are allowed.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class ContrastRow:
    """A row of a table; each entry of `bold` says whether the cell at the same index is bold."""

    cells: list[str]
    bold: list[bool]


def _build_row(cells: list[str], significant: bool, over: MemberInference | None) -> ContrastRow:
    """Return a row of a table.

    The cells are bold if the result is significant for the compared models or languages. The last two cells are bold
    if the result is also significant for other models or languages like these (`over`).
    """
    generalises = over is not None and over.significant
    return ContrastRow(cells, [significant] * (len(cells) - 2) + [generalises] * 2)


@dataclass(frozen=True, slots=True)
class ContrastSection:
    """A section of the page: a title, sentences, a table, and optionally a figure with a caption, and items."""

    title: str
    sentences: list[str]
    heads: list[str]
    rows: list[ContrastRow]
    figure: Markup | None = None
    caption: str = ""
    items: tuple[DisagreementList, ...] = ()


def render_group_page(comparison: GroupComparison) -> str:
    """Return the HTML page of a comparison of groups."""
    sections = [
        build_section(
            f"{contrast[0].left.label} − {contrast[0].right.label}, {contrast[0].subject}",
            describe_contrast(contrast),
            ["part", *HEADS],
            [_build_row([format_label(d.part), *format_cells(d)], d.significant, d.over_members) for d in contrast],
        )
        for contrast in group_by_pair(comparison.differences)
    ]
    return render_page(
        "Do these groups differ, by how much, and how certain is it?",
        sections,
        comparison.notes,
        describe_group_method(comparison.differences),
    )


def render_size_page(comparison: SizeComparison) -> str:
    """Return the HTML page of a comparison of model sizes, with figures."""
    sections = []
    for (_, figure), trend in zip(build_size_figures(comparison), group_by_measure(comparison.slopes), strict=True):
        rows = [
            _build_row(
                [format_label(cell) for cell in format_size_cells(slope)],
                slope.significant,
                slope.estimate.over_members,
            )
            for slope in trend
        ]
        section = build_section(figure.title, describe_trend(trend), SIZE_HEADS, rows)
        sections.append(replace(section, figure=render_svg(figure), caption=figure.caption))
    return render_page(
        "Does bias increase with size?", sections, comparison.notes, describe_size_method(comparison.slopes)
    )


def build_section(
    title: str, sentences: Iterable[str], heads: Sequence[str] = (), rows: Sequence[ContrastRow] = ()
) -> ContrastSection:
    """Return a section, with a table if there are rows; empty columns of the table are removed."""
    shown = [number for number in range(len(heads)) if any(row.cells[number] for row in rows)]
    return ContrastSection(
        format_label(title, 120),
        [clip_text(sentence) for sentence in sentences],
        [heads[number] for number in shown],
        [ContrastRow([row.cells[n] for n in shown], [row.bold[n] for n in shown]) for row in rows],
    )


def build_table_section(table: TextTable, suffix: str = "") -> ContrastSection:
    """Return a section with a table only; `suffix` is added to the title of the table."""
    return build_section(f"{table.title}{suffix}", [], table.heads, list_table_rows(table))


def list_table_rows(table: TextTable) -> list[ContrastRow]:
    """Return the rows of a table for a section."""
    return [
        ContrastRow([format_label(cell, 120) for cell in row], [number in table.bold] * len(row))
        for number, row in enumerate(table.rows)
    ]


def build_size_figures(comparison: SizeComparison) -> list[tuple[str, Figure]]:
    """Return a list of (name of the benchmark, figure), one for each measure; `save_figures` needs this list."""
    figures = []
    for trend in group_by_measure(comparison.slopes):
        first = trend[0]
        language = first.subject.rpartition(":")[2]
        words = [first.part if first.part != "all" else "", language, first.quantity.name, "by size"]
        figure = build_size_map(build_slug(words), format_title(first), trend)
        figures.append((format_benchmark_name(first.benchmark), figure))
    return figures


def render_svg(figure: Figure) -> Markup:
    """Return the figure as inline SVG. The converter escapes names from data, so the SVG is safe in HTML."""
    return Markup(vl_convert.vegalite_to_svg(json.dumps(figure.build_combined_spec()), allowed_base_urls=[]))


def render_page(title: str, sections: Sequence[ContrastSection], notes: Sequence[str], method: str) -> str:
    """Return the HTML page with the title as headline, then the sections, the notes and the method."""
    return load_template("question.html.jinja").render(
        policy=_POLICY,
        style=Markup(read_template_file("report.css")),
        title=title,
        sections=sections,
        notes=[clip_text(note) for note in notes],
        method=method,
        version=tiltmeter.__version__,
    )
