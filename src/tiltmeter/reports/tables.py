"""The numbers of a run for other programs: JSON, CSV and LaTeX."""

from collections.abc import Iterator, Sequence

from tiltmeter.csv_text import csv_text
from tiltmeter.measures import deciding, measure_named
from tiltmeter.measures.records import Record, to_dicts, to_frame
from tiltmeter.printable import json_text
from tiltmeter.reports.formatting import escape_latex, format_interval, reported_p
from tiltmeter.reports.languages import language_name
from tiltmeter.reports.record_rows import RecordRow, any_record, rows_of
from tiltmeter.reports.terminal import columns_of


def as_json(records: Sequence[Record]) -> str:
    """All records, in the format of measures.json."""
    return json_text(to_dicts(records))


def as_csv(records: Sequence[Record]) -> str:
    """All records, one per line; unknown values are empty."""
    frame = to_frame(records)
    return csv_text(list(frame.columns), frame.itertuples(index=False)).rstrip("\n")


def runs_as_json(runs: Sequence[tuple[str, Sequence[Record]]]) -> str:
    """All records of several runs, each with the name of its run."""
    return json_text([{"run": name, **row} for name, records in runs for row in to_dicts(records)])


def runs_as_csv(runs: Sequence[tuple[str, Sequence[Record]]]) -> str:
    """All records of several runs, one per line, after the name of the run."""
    frames = [(name, to_frame(records)) for name, records in runs]
    lines = ([name, *row] for name, frame in frames for row in frame.itertuples(index=False))
    return csv_text(["run", *frames[0][1].columns], lines).rstrip("\n")


def as_latex(records: Sequence[Record]) -> str:
    r"""The tables of the terminal for a paper, one for each benchmark; they need `\usepackage{booktabs}`."""
    by_benchmark: dict[str, list[RecordRow]] = {}
    for row in rows_of(records):
        by_benchmark.setdefault(any_record(row).benchmark, []).append(row)
    return "\n\n".join(_table(name, rows) for name, rows in by_benchmark.items())


def _table(benchmark: str, rows: Sequence[RecordRow]) -> str:
    first = next((record for row in rows if (record := deciding(row))), None)
    measures = (
        columns_of(rows, measure_named(first.measure))
        if first
        else list(dict.fromkeys(name for row in rows for name in row))
    )
    parted = any(any_record(row).part != "all" for row in rows)
    heads = ["model", "language", *(["part"] if parted else []), *measures, "$n$", "$p$"]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{ll{'l' * parted}{'r' * (len(measures) + 2)}}}",
        r"\toprule",
        " & ".join(head if head.startswith("$") else escape_latex(head) for head in heads) + r" \\",
        r"\midrule",
        *_lines(rows, measures, parted),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{_caption(benchmark, rows)}}}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _lines(rows: Sequence[RecordRow], measures: Sequence[str], parted: bool) -> Iterator[str]:
    for row in rows:
        record = deciding(row) or any_record(row)
        names = [record.model, language_name(record.language), *([record.part] if parted else [])]
        p_value = reported_p(record)
        p_value = f"${p_value}$" if p_value.startswith("<") else p_value
        numbers = [_number(row[name]) if name in row else "" for name in measures]
        yield " & ".join([*map(escape_latex, names), *numbers, str(record.n), p_value]) + r" \\"


def _number(record: Record) -> str:
    value = f"${measure_named(record.measure).number(record.value)}$"
    return " ".join(filter(None, (value, format_interval(record, r"{{\footnotesize $[{}, {}]$}}"))))


def _caption(benchmark: str, rows: Sequence[RecordRow]) -> str:
    protocols = dict.fromkeys(name for row in rows for name in any_record(row).protocol.split(" + "))
    title = escape_latex(f"{benchmark}, protocol {', '.join(protocols)}, with 95% intervals")
    return f"{title}; $p$ corrected by Holm's method."
