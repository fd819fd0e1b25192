"""The texts, rulers (small drawings of values) and page names that the pages of the board display."""

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
_RELATIONS = {"reference": "reference", "closer": "closer than reference", "farther": "farther than reference"}
# The number of items of a value is displayed if it is below this share of the largest number of items in the column.
_FEWER = 0.9
_ANSWERS = {"likelihoods": "by likelihoods", "prompts": "by prompts", "translations": "by translations"}


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell (one model in one column) as it is displayed.

    `model` is the index of the model, `mark` the short verdict, and `tone` the CSS class for its colour. `remarks` are
    displayed after the verdict: the rank, the relation to the reference model, and the number of items if it is small.
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
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column with the texts of its heading.

    `place` is the benchmark and its part; `extra` distinguishes the column from similar columns. `cells` maps the
    indices of models to their cells.
    """

    column: BoardColumn
    benchmark: str
    place: str
    language: str
    extra: str
    reference: str
    cells: Mapping[int, CellView]


@dataclass(frozen=True, slots=True)
class ModelView:
    """A model as it is displayed: its index, its name, the path of its page, and its family or model type."""

    number: int
    name: str
    page: str
    family: str


@dataclass(frozen=True, slots=True)
class SectionView:
    """A table of the board; all of its models have one kind and were measured with one protocol."""

    key: SectionKey
    title: str
    columns: Sequence[ColumnView]


def build_slug(name: str) -> str:
    """Return a unique file name for the name of a model or benchmark; it contains only letters, digits and hyphens.

    >>> build_slug("org/Model_1.0"), build_slug("../<b>")
    ('org-model-1-0-295cc3737dd1', 'b-9f46aef2a2b6')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:48]
    return f"{plain or 'x'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def get_verdict_mark(verdict: Verdict) -> str:
    """Return the short text of a verdict that the board displays."""
    if verdict.kind == "significant":
        return "difference" if verdict.side == "none" else verdict.side
    return _SHORT.get(verdict.kind, verdict.kind)


def get_verdict_tone(verdict: Verdict) -> str:
    """Return the CSS class for the colour of a verdict."""
    if verdict.kind == "significant":
        return "doubt" if verdict.side == "none" else verdict.side
    return "none" if verdict.is_reliable else "doubt"


def format_section_title(key: SectionKey) -> str:
    """Return the heading of a table.

    >>> format_section_title(SectionKey("masked", "likelihoods", "published"))
    'Masked models, by likelihoods, protocol published'
    """
    kind = {"": "Models of unknown kind", "translator": "Translation systems"}.get(key.kind)
    models = kind or f"{format_label(key.kind).capitalize()} models"
    return f"{models}, {_ANSWERS[key.answers]}, protocol {format_label(key.protocol)}"


def build_section_views(columns: Sequence[BoardColumn], numbers: Mapping[str, int]) -> list[SectionView]:
    """Build the tables of the board; `numbers` maps the name of a model to its index.

    All rulers (small drawings of values) of one benchmark and measure have the same scale.
    """
    scales = _compute_scales(columns)
    names = shorten_names(column.key.benchmark for column in columns)
    similar: dict[tuple[object, ...], list[ColumnKey]] = {}
    for column in columns:
        similar.setdefault((column.key.section, *column.key.location), []).append(column.key)
    sections: dict[SectionKey, list[ColumnView]] = {}
    for column in columns:
        extra = _describe_distinguishing_conditions(column.key, similar[column.key.section, *column.key.location])
        sections.setdefault(column.key.section, []).append(
            _build_column_view(column, names[column.key.benchmark], extra, numbers, scales)
        )
    ordered = sorted(sections.items(), key=lambda entry: -sum(len(column.cells) for column in entry[1]))
    return [SectionView(key, format_section_title(key), views) for key, views in ordered]


_Scales = Mapping[tuple[str, str], tuple[float, float]]


def _compute_scales(columns: Iterable[BoardColumn]) -> _Scales:
    ends: dict[tuple[str, str], list[float]] = {}
    for column in columns:
        values = ends.setdefault((column.key.benchmark, column.key.measure), [])
        for cell in column.cells:
            values += [cell.record.value, *(cell.record.interval or ())]
    return {key: get_measure(key[1]).span(values) for key, values in ends.items()}


def _build_column_view(
    column: BoardColumn, benchmark: str, extra: str, numbers: Mapping[str, int], scales: _Scales
) -> ColumnView:
    key = column.key
    scale = scales[key.benchmark, key.measure]
    most = max(cell.record.n for cell in column.cells)
    cells = {}
    for cell in column.cells:
        number, record = numbers[cell.model], cell.record
        rank = f"{cell.rank.first}–{cell.rank.last}" if cell.rank is not None else ""
        fewer = f"n={record.n:,}" if record.n < _FEWER * most else ""
        cells[number] = CellView(
            number,
            cell,
            get_measure(key.measure).number(record.value),
            format_interval(record, "{} – {}"),
            build_ruler(record, scale, cell.verdict.side),
            get_verdict_mark(cell.verdict),
            get_verdict_tone(cell.verdict),
            rank,
            cell.relation,
            tuple(filter(None, (f"rank {rank}" if rank else "", _RELATIONS.get(cell.relation, ""), fewer))),
        )
    return ColumnView(
        column,
        benchmark,
        benchmark if is_pooled(key.part) else f"{benchmark}/{format_label(key.part)}",
        format_label(get_language_name(key.language)),
        extra,
        column.reference,
        cells,
    )


def _describe_distinguishing_conditions(key: ColumnKey, similar: Sequence[ColumnKey]) -> str:
    """Return a text with the properties of a column in which it differs from at least one of the `similar` columns.

    Similar columns have the same benchmark, part and language. Next-sentence scores are always named, because the
    heading of the table names only likelihoods.
    """

    def has_several_values(name: str) -> bool:
        if name == "family" and "next-sentence" in key.family:
            return True
        return any(getattr(other, name) != getattr(key, name) for other in similar)

    texts = [format_label(getattr(key, name)) for name in ("protocol", "family", "parts") if has_several_values(name)]
    texts += [
        f"{name} {getattr(key, name) or 'unknown'}" for name in ("edition", "tokenizer") if has_several_values(name)
    ]
    return ", ".join([*texts, *([format_label(key.alone)] if key.alone else [])])
