"""The records of runs as JSON, CSV and LaTeX."""

from collections.abc import Iterator, Sequence

from tiltmeter.csv_text import format_csv
from tiltmeter.measures import get_measure, select_deciding_record
from tiltmeter.measures.records import Record, to_dicts, to_frame
from tiltmeter.printable_text import format_json
from tiltmeter.reports.formatting import escape_latex, format_interval, format_reported_p
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import RecordRow, build_rows, get_first_record
from tiltmeter.reports.result_table import list_columns


def format_records_json(records: Sequence[Record]) -> str:
    """Return all records as JSON, in the format of the file measures.json."""
    return format_json(to_dicts(records))


def format_records_csv(records: Sequence[Record]) -> str:
    """Return all records as CSV, one record per line; unknown values are empty."""
    frame = to_frame(records)
    return format_csv(list(frame.columns), frame.itertuples(index=False)).rstrip("\n")


def format_runs_json(runs: Sequence[tuple[str, Sequence[Record]]]) -> str:
    """Return all records of several runs as JSON; the field `run` of a record is the name of its run."""
    return format_json([{"run": name, **row} for name, records in runs for row in to_dicts(records)])


def format_runs_csv(runs: Sequence[tuple[str, Sequence[Record]]]) -> str:
    """Return all records of several runs as CSV, one record per line; the first column is the name of the run."""
    frames = [(name, to_frame(records)) for name, records in runs]
    lines = ([name, *row] for name, frame in frames for row in frame.itertuples(index=False))
    return format_csv(["run", *frames[0][1].columns], lines).rstrip("\n")


def format_records_latex(records: Sequence[Record]) -> str:
    r"""Return a LaTeX table for each benchmark, with the same columns as in the terminal.

    The tables need `\usepackage{booktabs}`.
    """
    by_benchmark = group_by(build_rows(records), lambda row: get_first_record(row).benchmark)
    return "\n\n".join(_format_table(name, rows) for name, rows in by_benchmark.items())


def _format_table(benchmark: str, rows: Sequence[RecordRow]) -> str:
    first = next((record for row in rows if (record := select_deciding_record(row))), None)
    measures = (
        list_columns(rows, get_measure(first.measure))
        if first
        else list(dict.fromkeys(name for row in rows for name in row))
    )
    has_parts = any(get_first_record(row).part != "all" for row in rows)
    heads = ["model", "language", *(["part"] if has_parts else []), *measures, "$n$", "$p$"]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{ll{'l' * has_parts}{'r' * (len(measures) + 2)}}}",
        r"\toprule",
        " & ".join(head if head.startswith("$") else escape_latex(head) for head in heads) + r" \\",
        r"\midrule",
        *_format_lines(rows, measures, has_parts),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{_format_caption(benchmark, rows)}}}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _format_lines(rows: Sequence[RecordRow], measures: Sequence[str], has_parts: bool) -> Iterator[str]:
    for row in rows:
        record = select_deciding_record(row) or get_first_record(row)
        names = [record.model, get_language_name(record.language), *([record.part] if has_parts else [])]
        p_value = format_reported_p(record)
        p_value = f"${p_value}$" if p_value.startswith("<") else p_value
        numbers = [_format_number(row[name]) if name in row else "" for name in measures]
        yield " & ".join([*map(escape_latex, names), *numbers, str(record.n), p_value]) + r" \\"


def _format_number(record: Record) -> str:
    value = f"${get_measure(record.measure).number(record.value)}$"
    return " ".join(filter(None, (value, format_interval(record, r"{{\footnotesize $[{}, {}]$}}"))))


def _format_caption(benchmark: str, rows: Sequence[RecordRow]) -> str:
    protocols = dict.fromkeys(name for row in rows for name in get_first_record(row).protocol.split(" + "))
    title = escape_latex(f"{benchmark}, protocol {', '.join(protocols)}, with 95% intervals")
    return f"{title}; $p$ corrected by Holm's method."
