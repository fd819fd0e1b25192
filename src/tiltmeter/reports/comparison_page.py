"""The page that `tiltmeter compare --html` writes: one HTML file without scripts or network access."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

import tiltmeter
from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.paired_difference import Comparison, Difference
from tiltmeter.datasets.dataset_loader import DATASETS, allows_text_export, explain_missing_texts
from tiltmeter.errors import TiltmeterError
from tiltmeter.forms import ItemText
from tiltmeter.measures.gest_mt import FEMININE, MASCULINE, ROLE
from tiltmeter.measures.records import OVERALL
from tiltmeter.reports.comparison import METHOD, describe_difference, format_numbers, group_by_pair, select_summaries
from tiltmeter.reports.comparison_matrix import SIGNS, DifferenceMatrix, build_matrices, is_large
from tiltmeter.reports.display_text import clip, format_label
from tiltmeter.reports.formatting import format_four_digits
from tiltmeter.reports.item_texts import list_stored_texts, load_texts
from tiltmeter.reports.page_templates import load_template, read_template_file

# The texts of items by id, for each data set that was measured.
_Texts = Mapping[Hashable, Mapping[str, ItemText]]

WARNING = "The sentences express stereotypes."

# Intervals are drawn with inline styles.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_GENDERS: Mapping[float | None, str] = {MASCULINE: "masculine", FEMININE: "feminine"}


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """A row of a table, with the position of the drawn interval in percent of the width."""

    difference: Difference
    cells: tuple[str, ...]
    low: float
    width: float
    point: float


@dataclass(frozen=True, slots=True)
class CandidateScores:
    """One candidate of an item with its scores by the two sides."""

    role: str
    texts: tuple[str, ...]
    scores: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which the two sides disagree."""

    identifier: str
    attributes: str
    contexts: tuple[str, ...]
    lines: tuple[CandidateScores, ...]


@dataclass(frozen=True, slots=True)
class DisagreementList:
    """The items on which the two sides disagree in one part and measure: all are counted, some are shown."""

    title: str
    warning: str
    total: int
    shown: list[Disagreement]


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """A pair that was compared. `subject` is what the two have in common, such as `stereoset:de`."""

    left: str
    right: str
    subject: str
    readings: list[str]
    rows: list[DifferenceRow]
    items: list[DisagreementList]
    is_significant: bool


@dataclass(frozen=True, slots=True)
class MatrixView:
    """A matrix of what differs: for each side its label, its value and the signs against all others."""

    title: str
    told_apart: str
    measure: str
    rows: list[tuple[str, str, list[str]]]


def render_comparison_page(comparison: Comparison, *, items: int | None = 200, everything: bool = False) -> str:
    """The page, with at most `items` items of disagreement for each part and measure; None for all.

    A comparison of many models or languages begins with a summary; the items are there only if `everything` is wanted.
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
        matrices=[_build_matrix_view(matrix) for matrix in build_matrices(comparison)] if large else [],
        signs=SIGNS,
        without_items=items == 0,
        notes=[clip(note) for note in (*comparison.notes, *_describe_omitted_texts(comparison.differences))],
        method=METHOD,
        version=tiltmeter.__version__,
    )


def _build_matrix_view(matrix: DifferenceMatrix) -> MatrixView:
    numbered = range(len(matrix.labels))
    return MatrixView(
        format_label(matrix.title),
        matrix.told_apart,
        matrix.measure.name,
        [
            (
                format_label(matrix.labels[row]),
                matrix.measure.number(matrix.values[row]),
                [matrix.signs.get((row, column), "") for column in numbered],
            )
            for row in numbered
        ],
    )


def _build_section(pair: Sequence[Difference], limit: int | None, texts: _Texts) -> ComparedPair:
    first = pair[0]
    return ComparedPair(
        format_label(first.left.label),
        format_label(first.right.label),
        format_label(first.subject),
        [clip(describe_difference(difference)) for difference in select_summaries(pair)],
        [_build_row(difference, pair) for difference in pair],
        [] if limit == 0 else list(_list_disagreements(pair, limit, texts)),
        any(difference.verdict == "significant" for difference in select_summaries(pair)),
    )


def _compute_sort_key(pair: Sequence[Difference]) -> tuple[bool, float]:
    """What pairs are sorted by: whether something differs significantly, and the largest difference in its margins."""
    sizes = [
        (difference.verdict == "significant", abs(_scale_difference(difference)))
        for difference in select_summaries(pair)
        if difference.quantity.measure.decides
    ]
    return max(sizes, default=(False, 0.0))


def _scale_difference(difference: Difference) -> float:
    """The difference in units of the measure's margin, or of its standard error."""
    return difference.contrast.difference / (
        difference.quantity.measure.margin or difference.contrast.standard_error or 1.0
    )


def _build_row(difference: Difference, pair: Sequence[Difference]) -> DifferenceRow:
    contrast = difference.contrast
    # Differences of one measure share a scale, with zero in the middle.
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
        texts["seen"],
    )
    return DifferenceRow(difference, cells, round(low, 2), round(high - low, 2), round(point, 2))


def _list_disagreements(pair: Sequence[Difference], limit: int | None, texts: _Texts) -> Iterator[DisagreementList]:
    """The items of disagreement for each measure of bias, part by part; pooled parts only where there are no others."""
    divided = any(difference.part != OVERALL for difference in pair)
    for difference in pair:
        if difference.quantity.measure.ideal_at_bound or (divided and difference.part == OVERALL):
            continue
        disagreed = difference.list_disagreements()
        data = DATASETS.get(difference.benchmark)
        by_language = {
            cell.language: texts[_get_text_key(cell)] for cell in (difference.left.cell, difference.right.cell)
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
    item = key[1]
    item_texts = [text for by_id in texts if (text := by_id.get(format_label(item)))]
    return Disagreement(
        clip(item, 80),
        ", ".join(_describe_attributes(difference.left.cell.get_attributes(key))),
        # Both sides have the same context if they translated the same sentence.
        tuple(dict.fromkeys(text.context for text in item_texts if text.context)),
        tuple(_list_translations(difference, key) or _list_candidates(difference, key, item_texts)),
    )


def _describe_attributes(attributes: Mapping[str, str]) -> Iterator[str]:
    """The attributes of an item; an attribute that is true or false is named only if true."""
    for name, value in attributes.items():
        words = format_label(name).replace("_", " ")
        if value == "True":
            yield words
        elif value != "False":
            yield f"{words}: {format_label(value)}"


def _list_candidates(
    difference: Difference, key: tuple[str, str], item_texts: Sequence[ItemText]
) -> Iterator[CandidateScores]:
    """The texts of an item by role, in both languages if there are two, with their scores by the two sides."""
    text_roles = (role for text in item_texts for role in text.texts)
    for role in dict.fromkeys((*difference.quantity.values.roles, *text_roles)):
        texts = tuple(text.texts[role] for text in item_texts if role in text.texts)
        scores = [side.cell.score(key, role) for side in (difference.left, difference.right)]
        yield CandidateScores(
            role, texts, tuple("" if score is None else format_four_digits(score) for score in scores)
        )


def _list_translations(difference: Difference, key: tuple[str, str]) -> list[CandidateScores]:
    """The translations by the two sides with the gender each shows; empty for language models."""
    lines = []
    for number, side in enumerate((difference.left, difference.right)):
        translation = side.cell.translation(key)
        if translation is not None:
            genders = ["", ""]
            genders[number] = _GENDERS.get(side.cell.score(key, ROLE), "")
            lines.append(CandidateScores(format_label(side.label), (clip(translation),), tuple(genders)))
    return lines


def _load_texts(differences: Iterable[Difference]) -> _Texts:
    """The texts of the items: from the runs, or for runs of earlier versions from data on this machine."""
    texts: dict[Hashable, Mapping[str, ItemText]] = {}
    for cell in (side.cell for difference in differences for side in (difference.left, difference.right)):
        if _get_text_key(cell) not in texts:
            try:
                texts[_get_text_key(cell)] = (
                    load_texts(cell.data) if cell.texts is None else list_stored_texts(cell.texts)
                )
            except (TiltmeterError, OSError):
                texts[_get_text_key(cell)] = {}
    return texts


def _describe_omitted_texts(differences: Iterable[Difference]) -> list[str]:
    """A sentence for each data set whose texts are not on the page because of its licence."""
    names = dict.fromkeys(difference.benchmark for difference in differences)
    return [explain_missing_texts(name) for name in names if not allows_text_export(name)]


def _get_text_key(cell: Cell) -> Hashable:
    """Identifies the texts of a cell: its run's own table of items, or the files of its data."""
    if cell.texts is not None:
        return id(cell.texts)
    files = cell.data.get("files") or {}
    return cell.benchmark, cell.language, cell.data.get("source"), frozenset(files.items())
