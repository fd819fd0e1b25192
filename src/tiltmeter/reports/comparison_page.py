"""The page that `tiltmeter compare --html` writes: one HTML file that has no scripts and loads no other files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

import tiltmeter
from tiltmeter.comparing.paired_difference import Comparison, Difference
from tiltmeter.datasets.dataset_loader import DATASETS, allows_text_export, explain_missing_texts
from tiltmeter.forms import ItemText
from tiltmeter.measures.gest_mt import FEMININE, MASCULINE, ROLE
from tiltmeter.measures.records import OVERALL
from tiltmeter.reports.comparison import (
    describe_difference,
    describe_method,
    format_numbers,
    group_by_pair,
    select_summaries,
)
from tiltmeter.reports.comparison_matrix import SIGNS, DifferenceMatrix, build_matrices, is_large
from tiltmeter.reports.display_text import clip_text, format_label
from tiltmeter.reports.formatting import format_four_digits
from tiltmeter.reports.item_texts import list_stored_texts
from tiltmeter.reports.page_templates import load_template, read_template_file

# Maps `id(table)` of each table of items to {id of the item: text of the item}.
_Texts = Mapping[int, Mapping[str, ItemText]]

WARNING = "The sentences express stereotypes."

# The page draws intervals with inline styles, so inline styles are allowed.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_GENDERS: Mapping[float | None, str] = {MASCULINE: "masculine", FEMININE: "feminine"}


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """A row of the table of differences.

    `low` and `point` are the positions at which the start of the interval and the difference are drawn, and `width` is
    the width of the drawn interval; all are in percent of the width of the drawing.
    """

    difference: Difference
    cells: tuple[str, ...]
    low: float
    width: float
    point: float


@dataclass(frozen=True, slots=True)
class CandidateScores:
    """One candidate text of an item, with the scores that the two compared sides gave to it."""

    role: str
    texts: tuple[str, ...]
    scores: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which the two compared sides disagree."""

    identifier: str
    attributes: str
    contexts: tuple[str, ...]
    lines: tuple[CandidateScores, ...]


@dataclass(frozen=True, slots=True)
class DisagreementList:
    """The items on which the two sides disagree, for one part and one measure.

    `listed` are the items shown on the page; `total` is the number of all such items.
    """

    title: str
    warning: str
    total: int
    listed: list[Disagreement]


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """The section of the page on one compared pair; `subject` is the benchmark and language, such as `stereoset:de`."""

    left: str
    right: str
    subject: str
    sentences: list[str]
    rows: list[DifferenceRow]
    items: list[DisagreementList]
    is_significant: bool


def render_comparison_page(comparison: Comparison, *, items: int | None = 200, everything: bool = False) -> str:
    """Return the page as HTML.

    The page lists at most `items` items on which the two sides disagree, for each part and measure; None lists all. If
    there are many models or languages, the page begins with a summary, and lists items only if `everything` is true.
    """
    large = is_large(comparison)
    if large and not everything:
        items = 0
    texts = {} if items == 0 else _load_texts(comparison.differences)
    return load_template("comparison.html.jinja").render(
        policy=_POLICY,
        style=Markup(read_template_file("report.css")),
        sections=[
            _build_section(pair, items, texts)
            for pair in sorted(group_by_pair(comparison.differences), key=_compute_sort_key, reverse=True)
        ],
        matrices=[_format_matrix(matrix) for matrix in build_matrices(comparison)] if large else [],
        signs=SIGNS,
        without_items=items == 0,
        notes=[clip_text(note) for note in (*comparison.notes, *_describe_omitted_texts(comparison.differences))],
        method=describe_method(comparison.differences),
        version=tiltmeter.__version__,
    )


def _format_matrix(matrix: DifferenceMatrix) -> dict[str, Any]:
    numbers = range(len(matrix.labels))
    return {
        "title": format_label(matrix.title),
        "pair_counts": matrix.pair_counts,
        "measure": matrix.measure.name,
        "rows": [
            (
                format_label(matrix.labels[row]),
                matrix.measure.number(matrix.values[row]),
                [matrix.signs.get((row, column), "") for column in numbers],
            )
            for row in numbers
        ],
    }


def _build_section(pair: Sequence[Difference], limit: int | None, texts: _Texts) -> ComparedPair:
    first = pair[0]
    return ComparedPair(
        format_label(first.left.label),
        format_label(first.right.label),
        format_label(first.subject),
        [clip_text(describe_difference(difference)) for difference in select_summaries(pair)],
        [_build_row(difference, pair) for difference in pair],
        [] if limit == 0 else list(_list_disagreements(pair, limit, texts)),
        any(difference.verdict == "significant" for difference in select_summaries(pair)),
    )


def _compute_sort_key(pair: Sequence[Difference]) -> tuple[bool, float]:
    """Return the sort key of a pair: whether it differs significantly, and its largest difference (scaled)."""
    sizes = [
        (difference.verdict == "significant", abs(_scale_difference(difference)))
        for difference in select_summaries(pair)
        if difference.quantity.measure.decides
    ]
    return max(sizes, default=(False, 0.0))


def _scale_difference(difference: Difference) -> float:
    """Return the difference divided by the measure's margin, or by the standard error if there is no margin."""
    return difference.contrast.difference / (
        difference.quantity.measure.margin or difference.contrast.standard_error or 1.0
    )


def _build_row(difference: Difference, pair: Sequence[Difference]) -> DifferenceRow:
    contrast = difference.contrast
    # All rows of one measure are drawn on the same scale, with zero in the middle.
    reach = max(
        max(abs(other.contrast.low), abs(other.contrast.high))
        for other in pair
        if other.quantity.name == difference.quantity.name
    )
    low, high, point = (50 + 48 * end / (reach or 1.0) for end in (contrast.low, contrast.high, contrast.difference))
    texts = format_numbers(difference)
    cells = (
        format_label(difference.part),
        difference.quantity.name,
        texts["left"],
        texts["right"],
        texts["difference"],
        f"{texts['low']} to {texts['high']}",
        texts["p"],
        texts["holm"],
        texts["effect"],
        f"{contrast.disagree:,} of {contrast.n:,}",
        texts["detectable"],
    )
    return DifferenceRow(difference, cells, round(low, 2), round(high - low, 2), round(point, 2))


def list_disagreements(differences: Sequence[Difference], limit: int | None) -> Iterator[DisagreementList]:
    """Yield the items on which the two sides of each difference disagree, with their texts; None lists all items."""
    texts = _load_texts(differences)
    for difference in differences:
        yield from _list_disagreements([difference], limit, texts)


def _list_disagreements(pair: Sequence[Difference], limit: int | None, texts: _Texts) -> Iterator[DisagreementList]:
    """Yield the items on which the sides disagree, for each part and each measure of bias.

    The result over all parts of a benchmark is left out if there are results for single parts.
    """
    divided = any(difference.part != OVERALL for difference in pair)
    for difference in pair:
        if difference.quantity.measure.ideal_at_bound or (divided and difference.part == OVERALL):
            continue
        disagreed = difference.list_disagreements()
        data = DATASETS.get(difference.benchmark)
        by_language = {
            cell.language: texts.get(id(cell.texts), {}) for cell in (difference.left.cell, difference.right.cell)
        }
        yield DisagreementList(
            f"{format_label(difference.part)}, {difference.quantity.name}",
            data.warning if data else WARNING,
            len(disagreed),
            [_build_disagreement(difference, key, by_language.values()) for key, _ in disagreed[:limit]],
        )


def _build_disagreement(
    difference: Difference, key: tuple[str, str], texts: Iterable[Mapping[str, ItemText]]
) -> Disagreement:
    """Return the texts and scores of an item on which the two sides disagree, for display."""
    item = key[1]
    item_texts = [text for by_id in texts if (text := by_id.get(format_label(item)))]
    return Disagreement(
        clip_text(item, 80),
        ", ".join(_describe_attributes(difference.left.cell.get_attributes(key))),
        # If both sides translated the same sentence, their contexts are equal, and only one is shown.
        tuple(dict.fromkeys(text.context for text in item_texts if text.context)),
        tuple(_list_translations(difference, key) or _list_candidates(difference, key, item_texts)),
    )


def _describe_attributes(attributes: Mapping[str, str]) -> Iterator[str]:
    """Yield the attributes of an item as texts; a Boolean attribute is left out if it is false."""
    for name, value in attributes.items():
        words = format_label(name).replace("_", " ")
        if value == "True":
            yield words
        elif value != "False":
            yield f"{words}: {format_label(value)}"


def _list_candidates(
    difference: Difference, key: tuple[str, str], item_texts: Sequence[ItemText]
) -> Iterator[CandidateScores]:
    """Yield the texts of an item and their scores by the two sides, for each role, such as "stereotype".

    If the two sides are different languages, each role has one text for each language.
    """
    text_roles = (role for text in item_texts for role in text.texts)
    for role in dict.fromkeys((*difference.quantity.values.roles, *text_roles)):
        texts = tuple(text.texts[role] for text in item_texts if role in text.texts)
        scores = [side.cell.get_score(key, role) for side in (difference.left, difference.right)]
        yield CandidateScores(
            role, texts, tuple("" if score is None else format_four_digits(score) for score in scores)
        )


def _list_translations(difference: Difference, key: tuple[str, str]) -> list[CandidateScores]:
    """Return the translation by each side and the gender it shows; the list is empty for language models."""
    lines = []
    for number, side in enumerate((difference.left, difference.right)):
        translation = side.cell.get_translation(key)
        if translation is not None:
            genders = ["", ""]
            genders[number] = _GENDERS.get(side.cell.get_score(key, ROLE), "")
            lines.append(CandidateScores(format_label(side.label), (clip_text(translation),), tuple(genders)))
    return lines


def _load_texts(differences: Iterable[Difference]) -> _Texts:
    """Return the texts of all items that are compared; see `_Texts` for the keys."""
    cells = (side.cell for difference in differences for side in (difference.left, difference.right))
    tables = {id(cell.texts): cell.texts for cell in cells if cell.texts is not None}
    return {key: list_stored_texts(table) for key, table in tables.items()}


def _describe_omitted_texts(differences: Iterable[Difference]) -> list[str]:
    """Return a sentence for each data set whose licence forbids showing its texts on the page."""
    names = dict.fromkeys(difference.benchmark for difference in differences)
    return [explain_missing_texts(name) for name in names if not allows_text_export(name)]
