"""Columns of the board: only numbers that can be compared share one.

A column is a part of a benchmark in a language, in the measure that decides, for models of one kind that were asked by
one protocol, by likelihoods or by prompts, on the same files; of a mean over tokens, also with one tokenizer. These are
the rules of `comparing.comparability`. Several parts are pooled in one column only if they are the same ones. Models
whose kind is not known have columns of their own.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tiltmeter.cluster.board.board_runs import BoardRun
from tiltmeter.comparing.comparability import get_edition
from tiltmeter.comparing.rank_ranges import RankRange
from tiltmeter.measures import get_measure, select_deciding_record
from tiltmeter.measures.records import OVERALL, Record, get_base_protocol, get_parts_key
from tiltmeter.measures.verdict import Verdict
from tiltmeter.models.model_protocol import CHAT_TEMPLATE
from tiltmeter.reports.display_text import format_label, shorten_names
from tiltmeter.reports.record_rows import RecordRow, build_rows, select_summary_rows
from tiltmeter.runs.conditions import MeasurementConditions
from tiltmeter.runs.manifest import index_data_sets


@dataclass(frozen=True, slots=True)
class ColumnKey:
    """What the numbers of a column have in common.

    `edition` stands for the files of the data, `alone` is the model where its kind is not known, `parts` are those that
    are pooled.
    """

    benchmark: str
    part: str
    language: str
    measure: str
    protocol: str
    family: str
    kind: str
    edition: str = ""
    tokenizer: str = ""
    alone: str = ""
    parts: str = ""

    @property
    def location(self) -> tuple[str, str, str]:
        """The benchmark, the part and the language."""
        return self.benchmark, self.part, self.language

    @property
    def section(self) -> "SectionKey":
        """The table in which the column is shown."""
        answers = "prompts" if "prompted" in self.family else "translations" if "translation" in self.family else ""
        protocol = get_base_protocol(self.protocol)
        if CHAT_TEMPLATE in self.protocol and CHAT_TEMPLATE not in protocol:
            protocol = f"{protocol} {CHAT_TEMPLATE}"
        return SectionKey(self.kind, answers or "likelihoods", protocol)


@dataclass(frozen=True, slots=True, order=True)
class SectionKey:
    """What the columns of one table have in common: kind of model, kind of answers, protocol."""

    kind: str
    answers: str
    protocol: str


@dataclass(frozen=True, slots=True)
class BoardCell:
    """The number of one model in a column.

    `rank` is its range of ranks among `ranked` models, None if it is not ranked. `relation` is what the tests say of it
    and the reference of the column: `p_reference` is the corrected p-value of that test.
    """

    model: str
    run: BoardRun
    record: Record
    verdict: Verdict
    rank: RankRange | None = None
    ranked: int = 0
    relation: str = ""
    p_reference: float | None = None

    @property
    def distance(self) -> float:
        """The distance from the ideal."""
        return abs(get_measure(self.record.measure).distance(self.record.value))

    @property
    def can_be_ranked(self) -> bool:
        """Whether the number has an interval and can be interpreted."""
        return self.record.interval is not None and self.verdict.kind != "not interpretable"


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A column with its cells. `is_summary`: the number of a whole benchmark, not of a part that it pools.

    `reference` is the model that the others are tested against; `paired`: the tests are paired, item by item.
    """

    key: ColumnKey
    cells: tuple[BoardCell, ...]
    is_summary: bool = True
    reference: str = ""
    paired: bool = False


@dataclass(slots=True)
class _ColumnCells:
    """The cells of columns by model, while runs are read."""

    cells: dict[ColumnKey, dict[str, list[BoardCell]]] = field(default_factory=dict)
    parts: set[ColumnKey] = field(default_factory=set)
    wholes: set[ColumnKey] = field(default_factory=set)


def build_columns(runs: Sequence[BoardRun]) -> tuple[list[BoardColumn], list[str]]:
    """The columns of runs, in order of benchmark, part and language, and notes on what is not shown.

    Of a model that was measured more than once for a column, the newest number is shown.
    """
    names = build_model_names(runs)
    gathered = _ColumnCells()
    for run in runs:
        _collect_cells(run, names, gathered)
    columns, repeated = [], []
    for key, by_model in gathered.cells.items():
        cells = []
        for measured in by_model.values():
            newest = max(measured, key=lambda cell: (cell.run.finished, cell.run.name))
            cells.append(newest)
            repeated += [newest] * (len(measured) > 1)
        columns.append(BoardColumn(key, tuple(cells), is_summary=key not in gathered.parts or key in gathered.wholes))
    columns.sort(key=lambda column: (column.key.section, *_get_sort_key(column.key)))
    return columns, list(dict.fromkeys(map(_describe_repeated, repeated)))


def build_model_names(runs: Iterable[BoardRun]) -> dict[tuple[str, str], str]:
    """The name of a model on the board, by name and precision: without folders, with its precision if there are two."""
    precisions: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, precision in _get_precisions(run).items():
            precisions.setdefault(name, {})[precision] = None
    shown = shorten_names(precisions)
    return {
        (name, precision): f"{shown[name]} ({precision or 'precision not known'})" if len(several) > 1 else shown[name]
        for name, several in precisions.items()
        for precision in several
    }


def _get_precisions(run: BoardRun) -> dict[str, str]:
    """The precision of each model of a run."""
    found = dict.fromkeys((record.model for record in run.records), "")
    for entry in run.manifest.get("models", ()):
        quantized = entry.get("quantized") or {}
        bits = f"{quantized['bits']} bits" if isinstance(quantized, Mapping) and "bits" in quantized else ""
        found[str(entry["name"])] = format_label(bits or str(entry.get("dtype") or ""))
    return found


def _collect_cells(run: BoardRun, names: Mapping[tuple[str, str], str], gathered: _ColumnCells) -> None:
    rows = build_rows(run.records)
    shown = {id(row) for row in select_summary_rows(rows)}
    precisions = _get_precisions(run)
    askings = [MeasurementConditions(**entry) for entry in run.manifest.get("asked", ())]
    tokenizers = {(asking.model, asking.benchmark, asking.language): asking.tokenizer for asking in askings}
    data = index_data_sets(run.manifest)
    parts = _group_pooled_parts(rows)
    for row in rows:
        record = select_deciding_record(row)
        if record is None or record.verdict is None:
            continue
        tokenizer = tokenizers.get((record.model, record.benchmark, record.language))
        files = get_edition(data.get((record.benchmark, record.language), {}), record.part)
        key = ColumnKey(
            record.benchmark,
            record.part,
            record.language,
            record.measure,
            record.protocol,
            record.family or "likelihood",
            record.kind or "",
            _compute_digest(sorted(files)),
            _compute_digest([tokenizer or record.model]) if get_measure(record.measure).per_token else "",
            "" if record.kind else record.model,
            " + ".join(sorted(parts[get_parts_key(record)])) if record.part == OVERALL else "",
        )
        model = names[record.model, precisions[record.model]]
        cell = BoardCell(model, run, record, record.verdict)
        gathered.cells.setdefault(key, {}).setdefault(model, []).append(cell)
        (gathered.wholes if id(row) in shown else gathered.parts).add(key)


def _group_pooled_parts(rows: Sequence[RecordRow]) -> dict[tuple[str, ...], set[str]]:
    """The single parts of the measures of a run, by what pooled parts share."""
    parts: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in rows:
        for record in row.values():
            if record.part != OVERALL:
                parts[get_parts_key(record)].add(record.part)
    return parts


def _compute_digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "replace")).hexdigest()[:8] if texts else ""


def _get_sort_key(key: ColumnKey) -> tuple[object, ...]:
    """Where a column stands: by benchmark, the pooled parts before single ones, English before other languages."""
    return (
        key.benchmark,
        key.part != OVERALL,
        key.part,
        key.language != "en",
        key.language,
        key.measure,
        key.protocol,
        key.parts,
        key.edition,
        key.tokenizer,
        key.alone,
    )


def _describe_repeated(cell: BoardCell) -> str:
    record = cell.record
    return (
        f"{cell.model} was measured more than once on {record.benchmark}:{record.language}; the newest run, "
        f"{cell.run.name}, is shown."
    )
