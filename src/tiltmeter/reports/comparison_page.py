"""The page that `tiltmeter compare --html` writes: one file, no script, nothing from the network."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import jinja2

import tiltmeter
from tiltmeter.data.datasets import DATASETS
from tiltmeter.reports.clean import clip, label
from tiltmeter.reports.comparison import METHOD, numbers, pairs, reading, summaries
from tiltmeter.reports.texts import ItemText, texts_here
from tiltmeter.runs.compare import Comparison, Difference

WARNING = "The sentences voice stereotypes."


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table, with where on its scale the interval is drawn, in percent of the width."""

    difference: Difference
    cells: tuple[str, ...]
    low: float
    width: float
    point: float


@dataclass(frozen=True, slots=True)
class Line:
    """One text of an item with the scores that the two sides gave to it."""

    role: str
    texts: tuple[str, ...]
    scores: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which the two disagree."""

    identifier: str
    about: str
    contexts: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """The items on which two disagree in one part and measure, as many as are shown."""

    title: str
    warning: str
    total: int
    shown: list[Disagreement]


@dataclass(frozen=True, slots=True)
class Section:
    """Two that were compared."""

    left: str
    right: str
    of: str
    readings: list[str]
    rows: list[Row]
    items: list[Items]


def comparison_page(comparison: Comparison, *, items: int | None = 200) -> str:
    """The page, with at most so many items on which two disagree for each part and measure; None for all."""
    return _template().render(
        sections=[_section(pair, items) for pair in pairs(comparison.differences)],
        notes=[clip(note) for note in comparison.notes],
        method=METHOD,
        version=tiltmeter.__version__,
    )


@cache
def _template() -> jinja2.Template:
    # Everything that comes from data is escaped by default; there is no `safe` in the template.
    loader = jinja2.PackageLoader("tiltmeter.reports", "templates")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined).get_template(
        "comparison.html"
    )


def _section(pair: Sequence[Difference], limit: int | None) -> Section:
    first = pair[0]
    return Section(
        label(first.left.label),
        label(first.right.label),
        label(first.of),
        [clip(reading(one)) for one in summaries(pair)],
        [_row(one, pair) for one in pair],
        list(_items(pair, limit)),
    )


def _row(one: Difference, pair: Sequence[Difference]) -> Row:
    found = one.contrast
    # Differences of one measure are drawn on one scale, with no difference in the middle.
    reach = max(
        max(abs(other.contrast.low), abs(other.contrast.high))
        for other in pair
        if other.quantity.measure == one.quantity.measure
    )
    low, high, point = (50 + 48 * end / (reach or 1.0) for end in (found.low, found.high, found.difference))
    said = numbers(one)
    cells = (
        label(one.part),
        one.quantity.measure,
        said["left"],
        said["right"],
        said["difference"],
        f"{said['low']} to {said['high']}",
        said["p"],
        said["holm"],
        said["effect"],
        f"{found.disagree:,} of {found.n:,}",
        said["seen"],
    )
    return Row(one, cells, round(low, 2), round(high - low, 2), round(point, 2))


def _items(pair: Sequence[Difference], limit: int | None) -> Iterator[Items]:
    """The items of each lean; those of both parts pooled are those of the parts."""
    divided = any(one.part != "overall" for one in pair)
    for one in pair:
        if one.quantity.towards_an_end or (divided and one.part == "overall"):
            continue
        found = one.disagreed()
        data = DATASETS.get(one.benchmark)
        yield Items(
            f"{label(one.part)}, {one.quantity.measure}",
            data.warning if data else WARNING,
            len(found),
            [_disagreement(one, part, item) for (part, item), _ in found[:limit]],
        )


def _disagreement(one: Difference, part: str, item: str) -> Disagreement:
    left, right = one.left.cell, one.right.cell
    languages = dict.fromkeys((left.language, right.language))
    texts = [text for language in languages if (text := _text(one.benchmark, language, part, item))]
    lines = []
    roles = dict.fromkeys((*one.quantity.roles, *(role for text in texts for role in text.texts)))
    for role in roles:
        said = tuple(text.texts[role] for text in texts if role in text.texts)
        scores = [cell.score((part, item), role) for cell in (left, right)]
        lines.append(Line(role, said, tuple("" if score is None else f"{score:.4g}" for score in scores)))
    return Disagreement(
        clip(item, 80),
        ", ".join(label(value) for value in left.about((part, item))),
        tuple(text.context for text in texts if text.context),
        tuple(lines),
    )


def _text(benchmark: str, language: str, part: str, item: str) -> ItemText | None:
    """What an item says; None where that is not to be had: a comparison is no occasion for a download."""
    there = texts_here(benchmark, language)
    return there.get((part, item)) or there.get(("", item))
