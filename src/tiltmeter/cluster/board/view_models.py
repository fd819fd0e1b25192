"""The columns as a reader sees them: texts, positions on rulers and names of pages, for the pages and the script."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.cluster.board.columns import BoardCell, BoardColumn, ColumnKey, SectionKey
from tiltmeter.measures import get_measure
from tiltmeter.measures.verdict import Verdict
from tiltmeter.reports.display_text import format_label, shorten_names
from tiltmeter.reports.formatting import format_interval
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import is_pooled
from tiltmeter.reports.ruler_svg import Ruler, build_ruler

_SHORT = {"no bias": "no bias", "too few": "too few items"}
_BESIDE = {"reference": "reference", "closer": "closer than reference", "farther": "farther than reference"}
# A number from less than this share of the items of others in its column is marked.
_FEWER = 0.9
_ANSWERS = {"likelihoods": "asked by likelihoods", "prompts": "asked by prompts", "translations": "by translations"}


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell. `model` is the number of its model; `mark` is the verdict in a word or two, `tone` its colour.

    `beside` is what a table says beside the verdict: the rank, the reference, a smaller number of items.
    """

    model: int
    cell: BoardCell
    value: str
    interval: str
    ruler: Ruler
    mark: str
    tone: str
    rank: str
    relation: str
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column: the names of benchmark and part, language and measure, and what tells it from columns like it."""

    column: BoardColumn
    benchmark: str
    place: str
    language: str
    extra: str
    reference: str
    cells: Mapping[int, CellView]


@dataclass(frozen=True, slots=True)
class ModelView:
    """A model: its name, its page, and its family, given or measured."""

    number: int
    name: str
    page: str
    family: str


@dataclass(frozen=True, slots=True)
class SectionView:
    """A table: models of one kind, asked by one protocol."""

    key: SectionKey
    title: str
    columns: Sequence[ColumnView]


def build_slug(name: str) -> str:
    """A name for a file, from letters, digits and hyphens, different for different names.

    >>> build_slug("org/Model_1.0"), build_slug("../<b>")
    ('org-model-1-0-295cc3737dd1', 'b-9f46aef2a2b6')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:48]
    return f"{plain or 'x'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def get_mark(verdict: Verdict) -> str:
    """A verdict in a word or two."""
    return verdict.side if verdict.kind == "significant" else _SHORT.get(verdict.kind, verdict.kind)


def get_tone(verdict: Verdict) -> str:
    """The colour of a verdict."""
    if verdict.kind == "significant":
        return verdict.side
    return "doubt" if verdict.kind in ("not interpretable", "contradictory") else "none"


def format_section_title(key: SectionKey) -> str:
    """The heading of a table.

    >>> format_section_title(SectionKey("masked", "likelihoods", "published"))
    'Masked models, asked by likelihoods, protocol published'
    """
    kind = {"": "Models whose kind is not known", "translator": "Translation systems"}.get(key.kind)
    models = kind or f"{format_label(key.kind).capitalize()} models"
    return f"{models}, {_ANSWERS[key.answers]}, protocol {format_label(key.protocol)}"


def build_section_views(columns: Sequence[BoardColumn], numbers: Mapping[str, int]) -> list[SectionView]:
    """The tables of columns; `numbers` are those of the models. Rulers of one benchmark and measure share a scale."""
    scales = _compute_scales(columns)
    names = shorten_names(column.key.benchmark for column in columns)
    alike: dict[tuple[object, ...], list[ColumnKey]] = {}
    for column in columns:
        alike.setdefault((column.key.section, *column.key.location), []).append(column.key)
    sections: dict[SectionKey, list[ColumnView]] = {}
    for column in columns:
        extra = _describe_distinction(column.key, alike[column.key.section, *column.key.location])
        sections.setdefault(column.key.section, []).append(
            _build_column_view(column, names[column.key.benchmark], extra, numbers, scales)
        )
    ordered = sorted(sections.items(), key=lambda entry: -sum(len(column.cells) for column in entry[1]))
    return [SectionView(key, format_section_title(key), found) for key, found in ordered]


_Scales = Mapping[tuple[str, str], tuple[float, float]]


def _compute_scales(columns: Iterable[BoardColumn]) -> _Scales:
    ends: dict[tuple[str, str], list[float]] = {}
    for column in columns:
        found = ends.setdefault((column.key.benchmark, column.key.measure), [])
        for cell in column.cells:
            found += [cell.record.value, *(cell.record.interval or ())]
    return {key: get_measure(key[1]).span(found) for key, found in ends.items()}


def _build_column_view(
    column: BoardColumn, benchmark: str, extra: str, numbers: Mapping[str, int], scales: _Scales
) -> ColumnView:
    key = column.key
    scale = scales[key.benchmark, key.measure]
    most = max(cell.record.n for cell in column.cells)
    cells = {}
    for cell in column.cells:
        number, record, rank = numbers[cell.model], cell.record, _format_rank(cell)
        said = _BESIDE.get(cell.relation, "")
        fewer = f"n={record.n:,}" if record.n < _FEWER * most else ""
        cells[number] = CellView(
            number,
            cell,
            get_measure(key.measure).number(record.value),
            format_interval(record, "{} – {}"),
            build_ruler(record, scale, cell.verdict.side),
            get_mark(cell.verdict),
            get_tone(cell.verdict),
            rank,
            cell.relation,
            tuple(filter(None, (f"rank {rank}" if rank else "", said, fewer))),
        )
    return ColumnView(
        column,
        benchmark,
        benchmark if is_pooled(key.part) else f"{benchmark}/{format_label(key.part)}",
        get_language_name(key.language)
        if get_language_name(key.language) != key.language
        else format_label(key.language),
        extra,
        column.reference,
        cells,
    )


def _format_rank(cell: BoardCell) -> str:
    if cell.rank is None:
        return ""
    return f"{cell.rank.first}–{cell.rank.last}"


def _describe_distinction(key: ColumnKey, alike: Iterable[ColumnKey]) -> str:
    """What tells a column from those of the same place in the same table: protocol, answers, parts, data, tokenizer."""
    others = [other for other in alike if other != key]
    found = [
        format_label(getattr(key, name))
        for name in ("protocol", "family", "parts")
        if any(getattr(other, name) != getattr(key, name) for other in others)
    ]
    found += [
        f"{name} {getattr(key, name) or 'not known'}"
        for name in ("edition", "tokenizer")
        if any(getattr(other, name) != getattr(key, name) for other in others)
    ]
    return ", ".join([*found, *([format_label(key.alone)] if key.alone else [])])
