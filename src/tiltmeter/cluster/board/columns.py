"""The columns of the board: values share a column only if they are comparable.

All values of a column have the same benchmark, part, language, primary measure, kind of model, protocol, answer type
and data files. For measures per token, the tokenizer must also be the same. These are the rules of
`comparing.comparability`. Values that are pooled over parts share a column only if they are pooled over the same parts.
A model of unknown kind has its own columns.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tiltmeter.cluster.board.board_runs import BoardRun
from tiltmeter.comparing.rank_ranges import RankRange
from tiltmeter.measures import get_measure, select_deciding_record
from tiltmeter.measures.records import OVERALL, Record, get_base_protocol, get_parts_key
from tiltmeter.measures.verdict import Verdict
from tiltmeter.models.model_protocol import CHAT_TEMPLATE
from tiltmeter.reports.display_text import format_label, shorten_names
from tiltmeter.reports.record_rows import RecordRow, build_rows, select_summary_rows
from tiltmeter.runs.manifest import DataSetFiles


@dataclass(frozen=True, slots=True)
class ColumnKey:
    """The properties that all values of a column share.

    `family` is the type of the answers, such as `likelihood`. `edition` is a digest of the data files. `alone` is the
    name of the model if its kind is unknown, else empty. `parts` are the parts over which the values are pooled.
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
        """Return the benchmark, the part and the language of the column."""
        return self.benchmark, self.part, self.language

    @property
    def section(self) -> "SectionKey":
        """Return the key of the table (section of the board) that contains the column."""
        answers = "prompts" if "prompted" in self.family else "translations" if "translation" in self.family else ""
        protocol = get_base_protocol(self.protocol)
        if CHAT_TEMPLATE in self.protocol and CHAT_TEMPLATE not in protocol:
            protocol = f"{protocol} {CHAT_TEMPLATE}"
        return SectionKey(self.kind, answers or "likelihoods", protocol)


@dataclass(frozen=True, slots=True, order=True)
class SectionKey:
    """The properties that all columns of a table on the board share: kind of model, answer type and protocol."""

    kind: str
    answers: str
    protocol: str


@dataclass(frozen=True, slots=True)
class BoardCell:
    """The value of one model in a column.

    `ranked` is the number of ranked models in the column. `rank` is the model's range of ranks, or None if the model is
    not ranked. `relation` compares the model's distance from the ideal with the distance of the reference model;
    `p_reference` is the corrected p-value of this test.
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
        """Return the distance of the value from the ideal value of the measure."""
        return abs(get_measure(self.record.measure).distance(self.record.value))

    @property
    def can_be_ranked(self) -> bool:
        """Return whether the model can be ranked: its value has an interval and can be compared with other values."""
        return self.record.interval is not None and self.verdict.is_reliable


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A column of the board with its cells, one for each model.

    `is_summary` is True if the column is for a whole benchmark, and False if it is for one of several parts.
    `reference` is the model that all other models are tested against. `paired` is True if all tests are paired by item.
    """

    key: ColumnKey
    cells: tuple[BoardCell, ...]
    is_summary: bool = True
    reference: str = ""
    paired: bool = False


@dataclass(slots=True)
class _ColumnCells:
    """The cells of all runs, grouped by column and model.

    `parts` are the columns of single parts of a benchmark, and `wholes` the columns of whole benchmarks.
    """

    cells: dict[ColumnKey, dict[str, list[BoardCell]]] = field(default_factory=dict)
    parts: set[ColumnKey] = field(default_factory=set)
    wholes: set[ColumnKey] = field(default_factory=set)


def build_columns(runs: Sequence[BoardRun]) -> tuple[list[BoardColumn], list[str]]:
    """Return the columns for these runs, sorted by benchmark, part and language, and a list of notes for the reader.

    If a column has several values of one model, only the newest value is used, and a note reports this.
    """
    names = build_model_names(runs)
    collected = _ColumnCells()
    for run in runs:
        _collect_cells(run, names, collected)
    columns, repeated = [], []
    for key, by_model in collected.cells.items():
        cells = []
        for measured in by_model.values():
            newest = max(measured, key=lambda cell: (cell.run.finished, cell.run.name))
            cells.append(newest)
            repeated += [newest] * (len(measured) > 1)
        is_summary = key not in collected.parts or key in collected.wholes
        columns.append(BoardColumn(key, tuple(cells), is_summary=is_summary))
    columns.sort(key=lambda column: (column.key.section, *_get_sort_key(column.key)))
    return columns, list(dict.fromkeys(map(_describe_repeated_run, repeated)))


def build_model_names(runs: Iterable[BoardRun]) -> dict[tuple[str, str], str]:
    """Return a dictionary from (model name, precision) to the display name of the model.

    Display names are shortened. They contain the precision if the runs have a model in several precisions.
    """
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
    """Return a dictionary from the models of a run to their precisions; unknown precisions are empty."""
    precisions = dict.fromkeys((record.model for record in run.records), "")
    for entry in run.manifest.models:
        bits = f"{entry.quantized['bits']} bits" if entry.quantized and "bits" in entry.quantized else ""
        precisions[entry.name] = format_label(bits or entry.dtype or "")
    return precisions


def _collect_cells(run: BoardRun, names: Mapping[tuple[str, str], str], collected: _ColumnCells) -> None:
    rows = build_rows(run.records)
    summary_rows = {id(row) for row in select_summary_rows(rows)}
    precisions = _get_precisions(run)
    tokenizers = {(entry.model, entry.benchmark, entry.language): entry.tokenizer for entry in run.manifest.asked}
    data = run.manifest.index_data_sets()
    parts = _group_pooled_parts(rows)
    for row in rows:
        record = select_deciding_record(row)
        if record is None or record.verdict is None:
            continue
        tokenizer = tokenizers.get((record.model, record.benchmark, record.language))
        files = data.get((record.benchmark, record.language), DataSetFiles()).get_edition(record.part)
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
        collected.cells.setdefault(key, {}).setdefault(model, []).append(cell)
        (collected.wholes if id(row) in summary_rows else collected.parts).add(key)


def _group_pooled_parts(rows: Sequence[RecordRow]) -> dict[tuple[str, ...], set[str]]:
    """Return a dictionary from the key of each value that is pooled over parts to the names of these parts."""
    parts: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in rows:
        for record in row.values():
            if record.part != OVERALL:
                parts[get_parts_key(record)].add(record.part)
    return parts


def _compute_digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "replace")).hexdigest()[:8] if texts else ""


def _get_sort_key(key: ColumnKey) -> tuple[object, ...]:
    """Return the sort key of a column.

    Columns are sorted by benchmark. Pooled values precede single parts, and English precedes other languages.
    """
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


def _describe_repeated_run(cell: BoardCell) -> str:
    record = cell.record
    return (
        f"{cell.model} was measured more than once on {record.benchmark}:{record.language}; the board shows the "
        f"newest run, {cell.run.name}."
    )
