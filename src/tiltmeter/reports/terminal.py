"""The table that a run prints: value, interval and n, a ruler around the ideal, and what it says in words."""

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.measures import Measure, deciding, measure_named
from tiltmeter.measures.records import Record
from tiltmeter.reports.record_rows import ALL_MODELS, RecordRow, one, split, summaries
from tiltmeter.reports.ruler import ASCII, UNICODE, draw, heading
from tiltmeter.reports.words import probability, reading

__all__ = ["columns_of", "print_measures", "reading"]

_COLOURS = {"towards": "dark_orange", "against": "dodger_blue1", "none": ""}

_ROOMY = 97  # the columns from which on nothing has to be shortened
_RULERS = (21, 15, 9)  # columns of the ruler, as there is room
_LONGEST = 24  # columns of a group's name
_SHORT = {"intrasentence": "intra", "intersentence": "inter"}

# A line under the headings and nothing else; the first where a terminal has no line-drawing characters.
_ASCII_BOX = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
_BOX = box.SIMPLE_HEAD


def print_measures(records: Sequence[Record], console: Console, view: str = "all") -> None:
    """Print the numbers of each model and benchmark: those over all items, or those of each group of another view.

    Where a measure can give a verdict, a language and part is a row; other measures are listed one under the other.
    """
    for (model, benchmark), found in split(records, "model", "benchmark"):
        headline = [record for record in found if record.view == view]
        if not headline and model == ALL_MODELS:
            continue  # how models agree: for the files, and the report
        if not headline and view != "all":
            continue
        headline = headline or found
        # The protocol of both parts pooled is made of the names of theirs.
        protocols = dict.fromkeys(name for record in headline for name in record.protocol.split(" + "))
        title = f" on {benchmark}, protocol {', '.join(protocols)}"
        console.print(Text.assemble((model, "bold"), title), soft_wrap=True)
        rows = [{r.measure: r for r in some} for _, some in split(headline, "language", "part", "protocol", "group")]
        measures = {record.measure for row in rows if (record := deciding(row))}
        if len(measures) == 1 and all(deciding(row) for row in rows):
            console.print(_table_of(rows, measure_named(measures.pop()), console, grouped=view != "all"))
            for row in summaries(rows) if view == "all" else _worth_a_sentence(rows):
                group = "" if view == "all" else one(row).group
                place = " ".join(filter(None, (one(row).language, _part(one(row), console), group)))
                console.print(Text.assemble((f"{place}: ", "bold"), reading(row)))
        else:
            console.print(_plain(headline, console))
        console.print()


def _worth_a_sentence(rows: Sequence[RecordRow]) -> list[RecordRow]:
    """Of many groups, those whose verdict is more than that they are too small."""
    told = ("significant", "no bias", "contradictory")
    return [row for row in rows if (found := deciding(row)) and found.verdict and found.verdict.kind in told]


def columns_of(rows: Sequence[RecordRow], measure: Measure) -> list[str]:
    """The measures that have a column in a table about one that gives verdicts.

    A number as published has one only where it differs, as SS does where there are ties.
    """
    names = [name for name in measure.columns or (measure.name,) if any(name in row for row in rows)]
    published = f"{measure.name} as published"
    alike = all(row[published].value == row[measure.name].value for row in rows if published in row)
    return [name for name in names if name != published or not alike]


def _table_of(rows: Sequence[RecordRow], measure: Measure, console: Console, *, grouped: bool = False) -> Table:
    plain = console.options.ascii_only
    measures = columns_of(rows, measure)
    parted, tied = any(_part(one(row), console) for row in rows), any("ties" in row for row in rows)
    several = len({one(row).protocol for row in rows}) > 1
    heads = ["", *(["group"] if grouped else []), *(["part"] if parted or several else [])]
    labels = len(heads)
    heads += [measure_named(name).heading or name for name in measures] + ["n", "p", *(["ties"] if tied else [])]
    lines = []
    for row in rows:
        record = deciding(row)
        assert record is not None  # print_measures lists rows without one
        cells = [record.language, *([_shortened(record.group, _LONGEST)] if grouped else [])]
        if parted or several:
            protocols = record.protocol.split(" + ") if several else []
            cells.append("\n".join(filter(None, (_part(record, console), *protocols))))
        cells += [_with_interval(row[name], "-" if plain else "–") if name in row else "" for name in measures]
        cells += [str(record.n), probability(record.p_value if record.p_adjusted is None else record.p_adjusted)]
        cells += [f"{row['ties'].value:.0f}" if "ties" in row else ""] if tied else []
        lines.append((record, cells))
    width = _ruler_width(heads, [cells for _, cells in lines], console)
    scale = measure.span(())
    table = _table(console)
    for number, head in enumerate(heads):
        table.add_column(head, justify="left" if number < labels else "right", no_wrap=number >= labels)
    if width:
        title = heading(scale, width, middle=measure.ideal)
        table.add_column(f"{measure.name:^{width}}\n{title}", no_wrap=True, min_width=width)
    for record, cells in lines:
        ends = [None if end is None else measure.position(end) for end in (record.low, record.high)]
        ruler = draw(
            measure.position(record.value),
            *ends,
            scale=(measure.position(scale[0]), measure.position(scale[1])),
            width=width or _RULERS[-1],
            marks=ASCII if plain else UNICODE,
        )
        style = _COLOURS[record.verdict.side if record.verdict else "none"]
        table.add_row(*(_dimmed(cell) for cell in cells), *([Text(ruler, style)] if width else []))
    return table


def _ruler_width(heads: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> int:
    """The width of the ruler that the other columns leave room for; 0 where they leave none."""
    gap = 2 if _roomy(console) else 1
    used = sum(
        gap + max(cell_len(line) for cell in column for line in cell.split("\n"))
        for column in zip(heads, *rows, strict=True)
    )
    rulers = _RULERS if _roomy(console) else _RULERS[1:]
    return next((width for width in rulers if used + width <= console.width), 0)


def _shortened(text: str, longest: int) -> str:
    return text if cell_len(text) <= longest else f"{set_cell_size(text, longest - 1).rstrip()}…"


def _dimmed(cell: str) -> Text:
    """A cell whose second line, an interval or a protocol, stands back."""
    first, newline, rest = cell.partition("\n")
    return Text.assemble(first, (newline + rest, "dim"))


def _with_interval(record: Record, dash: str) -> str:
    """The value, and under it its interval; a dash between negative numbers would be read as a sign."""
    number = measure_named(record.measure).number
    if record.low is None or record.high is None:
        return number(record.value)
    between = " to " if record.low < 0 else dash
    return f"{number(record.value)}\n{number(record.low)}{between}{number(record.high)}"


def _plain(records: Sequence[Record], console: Console) -> Table:
    table = _table(console)
    for name in ("", "part", "group", "measure"):
        table.add_column(name, overflow="fold")
    for name in ("value", "95% interval", "ideal", "n", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in records:
        interval = f"[{r.low:.4g}, {r.high:.4g}]" if r.low is not None else ""
        ideal = f"{r.ideal:g}" if r.ideal is not None else ""
        p_value = probability(r.p_value)
        cells = (r.language, r.part, r.group, r.measure, f"{r.value:.4g}", interval, ideal, str(r.n), p_value)
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _table(console: Console) -> Table:
    kind = _ASCII_BOX if console.options.ascii_only else _BOX
    return Table(box=kind, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0) if _roomy(console) else 0)


def _roomy(console: Console) -> bool:
    return console.width >= _ROOMY


def _part(record: Record, console: Console) -> str:
    """The part, shortened where there is no room; nothing where a data set is not divided."""
    if record.part == "all":
        return ""
    return record.part if _roomy(console) else _SHORT.get(record.part, record.part)
