"""The columns as a reader sees them: texts, positions on rulers and names of pages, for the pages and the script."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.cluster.board.columns import BoardCell, BoardColumn, ColumnKey, SectionKey
from tiltmeter.measures import measure_named
from tiltmeter.measures.verdict import Verdict
from tiltmeter.reports.clean import label, short_names
from tiltmeter.reports.formatting import format_interval
from tiltmeter.reports.languages import language_name
from tiltmeter.reports.record_rows import pooled
from tiltmeter.reports.ruler_svg import Ruler, ruler

_SHORT = {"no bias": "no bias", "too few": "too few items"}
_BESIDE = {"reference": "reference", "closer": "closer than reference", "farther": "farther than reference"}
# A number from less than this share of the items of others in its column is marked.
_FEWER = 0.9
_ANSWERS = {"likelihoods": "asked by likelihoods", "prompts": "asked by prompts", "translations": "by translations"}


@dataclass(frozen=True, slots=True)
class ShownCell:
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
class ShownColumn:
    """A column: the names of benchmark and part, language and measure, and what tells it from columns like it."""

    column: BoardColumn
    benchmark: str
    place: str
    language: str
    extra: str
    reference: str
    cells: Mapping[int, ShownCell]


@dataclass(frozen=True, slots=True)
class ShownModel:
    """A model: its name, its page, and its family, given or measured."""

    number: int
    name: str
    page: str
    family: str


@dataclass(frozen=True, slots=True)
class ShownSection:
    """A table: models of one kind, asked by one protocol."""

    key: SectionKey
    title: str
    columns: Sequence[ShownColumn]


def slug(name: str) -> str:
    """A name for a file, from letters, digits and hyphens, different for different names.

    >>> slug("org/Model_1.0"), slug("../<b>")
    ('org-model-1-0-295cc3737dd1', 'b-9f46aef2a2b6')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:48]
    return f"{plain or 'x'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def mark_of(verdict: Verdict) -> str:
    """A verdict in a word or two."""
    return verdict.side if verdict.kind == "significant" else _SHORT.get(verdict.kind, verdict.kind)


def tone_of(verdict: Verdict) -> str:
    """The colour of a verdict."""
    if verdict.kind == "significant":
        return verdict.side
    return "doubt" if verdict.kind in ("not interpretable", "contradictory") else "none"


def section_title(key: SectionKey) -> str:
    """The heading of a table.

    >>> section_title(SectionKey("masked", "likelihoods", "published"))
    'Masked models, asked by likelihoods, protocol published'
    """
    kind = {"": "Models whose kind is not known", "translator": "Translation systems"}.get(key.kind)
    return (
        f"{kind or f'{label(key.kind).capitalize()} models'}, {_ANSWERS[key.answers]}, protocol {label(key.protocol)}"
    )


def shown_sections(columns: Sequence[BoardColumn], numbers: Mapping[str, int]) -> list[ShownSection]:
    """The tables of columns; `numbers` are those of the models. Rulers of one benchmark and measure share a scale."""
    scales = _scales(columns)
    names = short_names(column.key.benchmark for column in columns)
    alike: dict[tuple[object, ...], list[ColumnKey]] = {}
    for column in columns:
        alike.setdefault((column.key.section, *column.key.location), []).append(column.key)
    sections: dict[SectionKey, list[ShownColumn]] = {}
    for column in columns:
        extra = _extra(column.key, alike[column.key.section, *column.key.location])
        sections.setdefault(column.key.section, []).append(
            _shown(column, names[column.key.benchmark], extra, numbers, scales)
        )
    ordered = sorted(sections.items(), key=lambda entry: -sum(len(column.cells) for column in entry[1]))
    return [ShownSection(key, section_title(key), found) for key, found in ordered]


_Scales = Mapping[tuple[str, str], tuple[float, float]]


def _scales(columns: Iterable[BoardColumn]) -> _Scales:
    ends: dict[tuple[str, str], list[float]] = {}
    for column in columns:
        found = ends.setdefault((column.key.benchmark, column.key.measure), [])
        for cell in column.cells:
            found += [cell.record.value, *(cell.record.interval or ())]
    return {key: measure_named(key[1]).span(found) for key, found in ends.items()}


def _shown(column: BoardColumn, benchmark: str, extra: str, numbers: Mapping[str, int], scales: _Scales) -> ShownColumn:
    key = column.key
    scale = scales[key.benchmark, key.measure]
    most = max(cell.record.n for cell in column.cells)
    cells = {}
    for cell in column.cells:
        number, record, rank = numbers[cell.model], cell.record, _rank(cell)
        said = _BESIDE.get(cell.relation, "")
        fewer = f"n={record.n:,}" if record.n < _FEWER * most else ""
        cells[number] = ShownCell(
            number,
            cell,
            measure_named(key.measure).number(record.value),
            format_interval(record, "{} – {}"),
            ruler(record, scale, cell.verdict.side),
            mark_of(cell.verdict),
            tone_of(cell.verdict),
            rank,
            cell.relation,
            tuple(filter(None, (f"rank {rank}" if rank else "", said, fewer))),
        )
    return ShownColumn(
        column,
        benchmark,
        benchmark if pooled(key.part) else f"{benchmark}/{label(key.part)}",
        language_name(key.language) if language_name(key.language) != key.language else label(key.language),
        extra,
        column.reference,
        cells,
    )


def _rank(cell: BoardCell) -> str:
    if cell.rank is None:
        return ""
    return f"{cell.rank.first}–{cell.rank.last}"


def _extra(key: ColumnKey, alike: Iterable[ColumnKey]) -> str:
    """What tells a column from those of the same place in the same table: protocol, answers, parts, data, tokenizer."""
    others = [other for other in alike if other != key]
    found = [
        label(getattr(key, name))
        for name in ("protocol", "family", "parts")
        if any(getattr(other, name) != getattr(key, name) for other in others)
    ]
    found += [
        f"{name} {getattr(key, name) or 'not known'}"
        for name in ("edition", "tokenizer")
        if any(getattr(other, name) != getattr(key, name) for other in others)
    ]
    return ", ".join([*found, *([label(key.alone)] if key.alone else [])])
