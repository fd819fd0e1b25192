"""The terminal table of results, with intervals drawn around the ideal, and the verdicts as sentences."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.measures import Measure, get_measure, select_deciding_record
from tiltmeter.measures.records import Record
from tiltmeter.reports.console_tables import (
    create_table,
    format_part,
    format_range,
    get_column_gap,
    is_wide_terminal,
    print_left_out_columns,
)
from tiltmeter.reports.controls import describe_contrast, describe_missing_controls, list_contrasts
from tiltmeter.reports.factor_notes import describe_dominant_factors
from tiltmeter.reports.formatting import (
    clear_uninterpretable_p,
    format_four_digits,
    format_interval,
    format_p,
    format_reported_p,
)
from tiltmeter.reports.group_names import get_display_group
from tiltmeter.reports.record_rows import ALL_MODELS, RecordRow, get_first_record, group_records, select_verdict_rows
from tiltmeter.reports.ruler import ASCII, UNICODE, draw_ruler, format_heading
from tiltmeter.reports.verdict_text import describe_unanswered, describe_verdict

__all__ = ["describe_verdict", "list_columns", "print_measures"]

_COLOURS = {"towards": "dark_orange", "against": "dodger_blue1", "none": ""}

_RULER_WIDTHS = (21, 15, 9)  # possible widths of the drawn scale, in characters; the largest width that fits is used
_LONGEST_GROUP = 24  # maximum width of the name of a group, in characters


def print_measures(records: Sequence[Record], console: Console, view: str = "all") -> None:
    """Print the results of each model and benchmark: over all items, or for each group of a view, such as "bias_type".

    If the results have verdicts, the table has a row for each language, part and group; otherwise a row for each
    record.
    """
    explained: dict[str, None] = {}
    for (model, benchmark), group in group_records(records, "model", "benchmark"):
        in_view = [record for record in group if record.view == view]
        if not in_view and model == ALL_MODELS:
            continue  # the agreement between models is shown only in the files and in the report
        if not in_view and view != "all":
            continue
        in_view = in_view or group
        # The protocol of a pooled record contains the protocols of its parts, joined by " + ".
        protocols = dict.fromkeys(name for record in in_view for name in record.protocol.split(" + "))
        title = f" on {benchmark}, protocol {', '.join(protocols)}"
        console.print(Text.assemble((model, "bold"), title), soft_wrap=True)
        rows = [
            {r.measure: r for r in row} for _, row in group_records(in_view, "language", "part", "protocol", "group")
        ]
        unanswered = [row for row in rows if describe_unanswered(row)]
        rows = [row for row in rows if row not in unanswered] or rows
        measures = {record.measure for row in rows if (record := select_deciding_record(row))}
        if len(measures) == 1 and all(select_deciding_record(row) for row in rows):
            measure = get_measure(measures.pop())
            shown, left_out = _select_fitting_columns(rows, measure, console, grouped=view != "all")
            table, cut = _build_table(rows, measure, shown, console, grouped=view != "all")
            console.print(table)
            if cut:
                console.print(Text(f"{' '.join(cut)}: the value is outside the drawn scale.", style="dim"))
            print_left_out_columns(left_out, console)
            explained |= dict.fromkeys(name for name in shown if name != "ties")
            _print_verdicts(select_verdict_rows(rows) if view == "all" else _select_conclusive_rows(rows), console)
            _print_controls(records, model, benchmark, view, console)
            for note in describe_dominant_factors(in_view):
                console.print(Text(note, style="dim"))
        else:
            console.print(_build_plain_table(in_view, console))
        if view == "all":
            _print_verdicts(unanswered, console)
        console.print()
    for name in explained:
        console.print(Text(f"{name}: {get_measure(name).meaning}", style="dim"))


def _print_verdicts(rows: Sequence[RecordRow], console: Console) -> None:
    """Print a line for each row: its language, part and group, and its verdict."""
    for row in rows:
        record = get_first_record(row)
        group = "" if record.view == "all" else get_display_group(record)
        names = filter(None, (record.language, _format_part(record, console), group))
        console.print(Text.assemble((f"{' '.join(names)}: ", "bold"), describe_verdict(row)))


def _print_controls(records: Sequence[Record], model: str, benchmark: str, view: str, console: Console) -> None:
    """Print comparisons with the benchmark's control data sets, and the names of controls that were not measured."""
    own_records = [record for record in records if record.model == model]
    for contrast in list_contrasts(own_records, benchmark, view):
        names = (contrast.record.language, _format_part(contrast.record, console))
        group = "" if contrast.record.view == "all" else get_display_group(contrast.record)
        console.print(
            Text.assemble((f"{' '.join(filter(None, (*names, group)))}, ", "bold"), describe_contrast(contrast))
        )
    if view == "all" and (missing := describe_missing_controls(own_records, benchmark)):
        console.print(Text(missing))


def _select_conclusive_rows(rows: Sequence[RecordRow]) -> list[RecordRow]:
    """Return the rows whose verdict is significant, no bias or contradictory."""
    kinds = ("significant", "no bias", "contradictory")
    return [
        row
        for row in rows
        if (record := select_deciding_record(row)) and record.verdict and record.verdict.kind in kinds
    ]


def list_columns(rows: Sequence[RecordRow], measure: Measure) -> list[str]:
    """Return the names of the measures that have a column in the table of the primary measure `measure`.

    The variant "as published" has a column only if its values differ from those of `measure`. For SS, the values differ
    if there are ties.
    """
    names = [name for name in measure.columns or (measure.name,) if any(name in row for row in rows)]
    published = f"{measure.name} as published"
    alike = all(row[published].value == row[measure.name].value for row in rows if published in row)
    return [name for name in names if name != published or not alike]


def _select_fitting_columns(
    rows: Sequence[RecordRow], measure: Measure, console: Console, *, grouped: bool
) -> tuple[list[str], list[str]]:
    """Return the names of the columns that fit the terminal, and the names of the columns that do not fit.

    A column shows a measure, or the number of ties (items with equal scores). The primary measure always has a column.
    Measures that are not its `companions` are left out first, then the ties, then the companions.
    """
    shown = [*list_columns(rows, measure), *(["ties"] if any("ties" in row for row in rows) else [])]
    kept = (measure.name, *measure.companions, "ties")
    order = [name for name in reversed(shown) if name not in kept]
    order += [name for name in ("ties", *reversed(measure.companions)) if name in shown]
    left_out: list[str] = []
    for name in order:
        heads, lines = _format_cells(rows, shown, console, grouped=grouped)
        if _compute_width(heads, [cells for _, cells in lines], console) <= console.width:
            break
        shown.remove(name)
        left_out.append(name)
    return shown, left_out


def _format_cells(
    rows: Sequence[RecordRow], shown: Sequence[str], console: Console, *, grouped: bool
) -> tuple[list[str], list[tuple[Record, list[str]]]]:
    """Return the headings of the table, and for each row the record of the primary measure and the cells."""
    measures, has_ties = [name for name in shown if name != "ties"], "ties" in shown
    has_parts = any(_format_part(get_first_record(row), console) for row in rows)
    several = len({get_first_record(row).protocol for row in rows}) > 1
    heads = ["", *(["group"] if grouped else []), *(["part"] if has_parts or several else [])]
    heads += [get_measure(name).heading or name for name in measures] + ["n", "p", *(["ties"] if has_ties else [])]
    lines = []
    for row in rows:
        record = select_deciding_record(row)
        assert record is not None  # print_measures uses another table for rows without a primary measure
        cells = [record.language, *([_shorten_name(get_display_group(record), _LONGEST_GROUP)] if grouped else [])]
        if has_parts or several:
            protocols = record.protocol.split(" + ") if several else []
            cells.append("\n".join(filter(None, (_format_part(record, console), *protocols))))
        cells += [_format_with_interval(row[name], console) if name in row else "" for name in measures]
        cells += [str(record.n), format_reported_p(record)]
        cells += [f"{row['ties'].value:.0f}" if "ties" in row else ""] if has_ties else []
        lines.append((record, cells))
    return heads, lines


def _build_table(
    rows: Sequence[RecordRow], measure: Measure, shown: Sequence[str], console: Console, *, grouped: bool
) -> tuple[Table, list[str]]:
    """Return the table, and the marks in it that mean "value outside the scale of the ruler (drawn scale)"."""
    marks = ASCII if console.options.ascii_only else UNICODE
    cut: dict[str, None] = {}
    heads, lines = _format_cells(rows, shown, console, grouped=grouped)
    labels = len(heads) - len(shown) - 2  # the other 2 columns are n and p
    width = _compute_ruler_width(heads, [cells for _, cells in lines], console)
    scale = measure.span(())
    table = _create_table(console)
    for number, head in enumerate(heads):
        # Columns of labels, such as language and part, are as wide as their longest line, so that labels are never cut.
        label_width = (
            max(cell_len(line) for _, cells in lines for line in cells[number].split("\n")) if number < labels else None
        )
        is_label = label_width is not None
        table.add_column(head, justify="left" if is_label else "right", no_wrap=not is_label, min_width=label_width)
    if width:
        title = format_heading(scale, width, middle=measure.ideal)
        table.add_column(f"{measure.name:^{width}}\n{title}", no_wrap=True, min_width=width)
    for record, cells in lines:
        ends = [None if end is None else measure.position(end) for end in (record.low, record.high)]
        ruler = draw_ruler(
            measure.position(record.value),
            *ends,
            scale=(measure.position(scale[0]), measure.position(scale[1])),
            width=width or _RULER_WIDTHS[-1],
            marks=marks,
        )
        cut |= dict.fromkeys(mark for mark in marks.beyond if width and mark in ruler)
        style = _COLOURS[record.verdict.side if record.verdict else "none"]
        table.add_row(*(_dim_second_line(cell) for cell in cells), *([Text(ruler, style)] if width else []))
    return table, list(cut)


def _compute_ruler_width(heads: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> int:
    """Return the width of the widest ruler that fits beside the other columns; 0 if no ruler fits."""
    used = _compute_width(heads, rows, console) + get_column_gap(console)
    rulers = _RULER_WIDTHS if is_wide_terminal(console) else _RULER_WIDTHS[1:]
    return next((width for width in rulers if used + width <= console.width), 0)


def _compute_width(heads: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> int:
    """Return the width of a table with these headings and rows, in characters."""
    widths = [
        max(cell_len(line) for cell in column for line in cell.split("\n")) for column in zip(heads, *rows, strict=True)
    ]
    return sum(widths) + get_column_gap(console) * (len(widths) - 1)


def _shorten_name(text: str, longest: int) -> str:
    return text if cell_len(text) <= longest else f"{set_cell_size(text, longest - 1).rstrip()}…"


def _dim_second_line(cell: str) -> Text:
    """Return a table cell in which all lines after the first are printed dim."""
    first, newline, rest = cell.partition("\n")
    return Text.assemble(first, (newline + rest, "dim"))


def _format_with_interval(record: Record, console: Console) -> str:
    """Return the value of a record as text, with its interval on the next line."""
    value = get_measure(record.measure).number(record.value)
    return "\n".join(filter(None, (value, format_range(record, console))))


def _build_plain_table(records: Sequence[Record], console: Console) -> Table:
    """Return a table with a row for each record."""
    table = _create_table(console)
    for name in ("", "part", "group", "measure"):
        table.add_column(name, overflow="fold")
    for name in ("value", "95% interval", "ideal", "n", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in clear_uninterpretable_p(records):
        labels = (r.language, r.part, get_display_group(r), r.measure)
        interval = format_interval(r, number=format_four_digits)
        ideal = f"{r.ideal:g}" if r.ideal is not None else ""
        numbers = (format_four_digits(r.value), interval, ideal, str(r.n), format_p(r.p_value))
        table.add_row(*map(Text, (*labels, *numbers)))
    return table


def _create_table(console: Console) -> Table:
    return create_table(console, padding=(0, get_column_gap(console) - 1, 0, 0))


def _format_part(record: Record, console: Console) -> str:
    """Return the name of the part; empty if the data set has no parts."""
    return "" if record.part == "all" else format_part(record.part, console)
