"""The page that `tiltmeter compare --group` and `--size` write: sentences, tables and figures, without scripts."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import vl_convert
from markupsafe import Markup

import tiltmeter
from tiltmeter.comparing.group_difference import GroupComparison
from tiltmeter.comparing.size_slopes import SizeComparison
from tiltmeter.measures.crossed import OverMembers
from tiltmeter.reports.clean import clip, label
from tiltmeter.reports.figures import Figure
from tiltmeter.reports.figures.size_map import size_map
from tiltmeter.reports.group_comparison import HEADS, cells_of_row, contrasts, describe_group_method, sentences
from tiltmeter.reports.size_trends import SIZE_HEADS, describe_size_method, size_cells, size_sentences, title_of, trends
from tiltmeter.reports.templating import page_template, template_file

# Figures and tables have inline styles.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A row of a table, and which of its cells are bold."""

    cells: list[str]
    bold: list[bool]


def _row(cells: list[str], significant: bool, over: OverMembers | None) -> QuestionRow:
    """A row that is bold if it is significant, its last two cells if it is so for members like these."""
    like_these = over is not None and over.significant
    return QuestionRow(cells, [significant] * (len(cells) - 2) + [like_these] * 2)


@dataclass(frozen=True, slots=True)
class QuestionSection:
    """The answer to one question: sentences, a table, and a figure if there is one."""

    title: str
    sentences: list[str]
    heads: list[str]
    rows: list[QuestionRow]
    figure: Markup | None = None
    caption: str = ""


def group_page(comparison: GroupComparison) -> str:
    """The page on groups."""
    sections = [
        _section(
            f"{contrast[0].left.label} − {contrast[0].right.label}, {contrast[0].subject}",
            sentences(contrast),
            ["part", *HEADS],
            [_row([label(d.part), *cells_of_row(d)], d.significant, d.over_members) for d in contrast],
        )
        for contrast in contrasts(comparison.differences)
    ]
    return _page(
        "Do these groups differ, by how much, and how sure is that?",
        sections,
        comparison.notes,
        describe_group_method(comparison.differences),
    )


def size_page(comparison: SizeComparison) -> str:
    """The page on sizes, with its figures."""
    sections = []
    for (_, figure), trend in zip(size_figures(comparison), trends(comparison.slopes), strict=True):
        rows = [
            _row([label(cell) for cell in size_cells(slope)], slope.significant, slope.estimate.over_members)
            for slope in trend
        ]
        made = _section(figure.title, size_sentences(trend), SIZE_HEADS, rows)
        sections.append(replace(made, figure=_svg(figure), caption=figure.caption))
    return _page("Does bias grow with size?", sections, comparison.notes, describe_size_method(comparison.slopes))


def _section(
    title: str, sentences: Iterable[str], heads: Sequence[str], rows: Sequence[QuestionRow]
) -> QuestionSection:
    """A section whose table has no empty columns: few members or models have no intervals over them."""
    shown = [number for number in range(len(heads)) if any(row.cells[number] for row in rows)]
    return QuestionSection(
        label(title, 120),
        [clip(sentence) for sentence in sentences],
        [heads[number] for number in shown],
        [QuestionRow([row.cells[n] for n in shown], [row.bold[n] for n in shown]) for row in rows],
    )


def size_figures(comparison: SizeComparison) -> list[tuple[str, Figure]]:
    """The figures on sizes, each with its benchmark, for `save_figures`."""
    found = []
    for trend in trends(comparison.slopes):
        first = trend[0]
        language = first.subject.rpartition(":")[2]
        words = [first.part if first.part != "all" else "", language, first.quantity.name, "by size"]
        slug = re.sub(r"[^\w.]+", "-", " ".join(filter(None, words))).strip("-").lower()
        found.append((re.sub(r"[^\w.-]+", "-", label(first.benchmark)), size_map(slug, title_of(first), trend)))
    return found


def _svg(figure: Figure) -> Markup:
    """The figure as an inline image; names from data are escaped by the converter."""
    return Markup(vl_convert.vegalite_to_svg(json.dumps(figure.paper()), allowed_base_urls=[]))


def _page(title: str, sections: Sequence[QuestionSection], notes: Sequence[str], method: str) -> str:
    return page_template("question.html.jinja").render(
        policy=_POLICY,
        style=Markup(template_file("report.css")),
        title=title,
        sections=sections,
        notes=[clip(note) for note in notes],
        method=method,
        version=tiltmeter.__version__,
    )
