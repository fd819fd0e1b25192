"""The table that a run prints: value, interval and n, a ruler around the ideal, and what it says in words."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.measures.records import Record
from tiltmeter.reports.leans import LEANS, Lean, deciding, side
from tiltmeter.reports.rows import ALL_MODELS, Row, one, split, summaries
from tiltmeter.reports.ruler import ASCII, UNICODE, draw, heading
from tiltmeter.reports.words import probability, reading

__all__ = ["columns_of", "print_measures", "reading"]

# What stands in the table of a measure that leans, and the scale of its ruler.
_COLUMNS: dict[str, tuple[str, ...]] = {
    "SS": ("LMS", "SS", "ICAT"),
    "CPS": ("CPS", "S_JSD x 1e3", "B.S_JSD", "mean difference per token"),
    "g_s": ("g_s", "q_m", "q_f"),
    "f_s": ("f_s", "f_m", "p_m", "p_f"),
}
_SCALES = {"SS": (30.0, 70.0), "CPS": (30.0, 70.0), "S_JSD x 1e3": (-10.0, 10.0), "g_s": (0.5, 2.0), "f_s": (-0.5, 0.5)}

_HEADS = {"S_JSD x 1e3": "S_JSD\nx 1e3", "mean difference per token": "difference\nper token"}
_DIGITS = {"mean difference per token": 3, "q_m": 2, "q_f": 2, "f_m": 3, "p_m": 3, "p_f": 3}

_COLOURS = {"towards": "dark_orange", "against": "dodger_blue1", "none": ""}

_ROOMY = 97  # the columns from which on nothing has to be shortened
_SHORT = {"intrasentence": "intra", "intersentence": "inter"}

# A line under the headings and nothing else; the first where a terminal has no line-drawing characters.
_ASCII_BOX = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
_BOX = box.SIMPLE_HEAD


def print_measures(records: Sequence[Record], console: Console) -> None:
    """Print the headline of each model and benchmark: the numbers over all items.

    Where there is a measure that leans, a language and part is a row; other measures are listed one under the other.
    """
    for (model, benchmark), found in split(records, "model", "benchmark"):
        headline = [record for record in found if record.view == "all"]
        if not headline and model == ALL_MODELS:
            continue  # how models agree: for the files, and the report
        headline = headline or found
        # The protocol of both parts pooled is made of the names of theirs.
        protocols = dict.fromkeys(name for record in headline for name in record.protocol.split(" + "))
        title = f" on {benchmark}, protocol {', '.join(protocols)}"
        console.print(Text.assemble((model, "bold"), title), soft_wrap=True)
        rows = [{r.measure: r for r in some} for _, some in split(headline, "language", "part", "protocol")]
        measures = {record.measure for row in rows if (record := deciding(row))}
        if len(measures) == 1 and all(deciding(row) for row in rows):
            console.print(_leaning(rows, LEANS[measures.pop()], console))
            for row in summaries(rows):
                place = " ".join(filter(None, (one(row).language, _part(one(row), console))))
                console.print(Text.assemble((f"{place}: ", "bold"), reading(row)))
        else:
            console.print(_plain(headline, console))
        console.print()


def columns_of(rows: Sequence[Row], lean: Lean) -> list[str]:
    """The measures of these rows that have a column, in a table about one that leans."""
    return [name for name in _COLUMNS.get(lean.measure, (lean.measure,)) if any(name in row for row in rows)]


def _leaning(rows: Sequence[Row], lean: Lean, console: Console) -> Table:
    width = 21 if _roomy(console) else 15
    plain = console.options.ascii_only
    dash = "-" if plain else "–"
    measures = columns_of(rows, lean)
    scale = _SCALES[lean.measure]
    parted, tied = any(_part(one(row), console) for row in rows), any("ties" in row for row in rows)
    several = len({one(row).protocol for row in rows}) > 1
    table = _table(console)
    table.add_column("")
    if parted or several:
        table.add_column("part", max_width=14 if _roomy(console) else 11)
    for name in (*measures, "n", "p", *(["ties"] if tied else [])):
        table.add_column(_HEADS.get(name, name), justify="right", no_wrap=True)
    title = heading(scale, width, middle=lean.ideal)
    table.add_column(f"{lean.measure:^{width}}\n{title}", no_wrap=True, min_width=width)
    for row in rows:
        record = deciding(row)
        assert record is not None  # print_measures lists rows without one
        part = _part(record, console)
        numbers = [_with_interval(row[name], dash) if name in row else "" for name in measures]
        ends = [None if end is None else lean.place(end) for end in (record.low, record.high)]
        ruler = draw(
            lean.place(record.value),
            *ends,
            scale=(lean.place(scale[0]), lean.place(scale[1])),
            width=width,
            marks=ASCII if plain else UNICODE,
        )
        cells = [record.language]
        if parted or several:
            cells.append(f"{part}\n{record.protocol}".strip() if several else part)
        cells += [*numbers, str(record.n), probability(record.p_value)]
        if tied:
            cells.append(f"{row['ties'].value:.0f}" if "ties" in row else "")
        table.add_row(*(_dimmed(cell) for cell in cells), Text(ruler, _COLOURS[side(record, row)]))
    return table


def _dimmed(cell: str) -> Text:
    """A cell whose second line, an interval or a protocol, stands back."""
    first, newline, rest = cell.partition("\n")
    return Text.assemble(first, (newline + rest, "dim"))


def _with_interval(record: Record, dash: str) -> str:
    """The value, and under it its interval; a dash between negative numbers would be read as a sign."""
    digits = LEANS[record.measure].digits if record.measure in LEANS else _DIGITS.get(record.measure, 1)

    def number(value: float) -> str:
        return f"{round(value, digits) + 0.0:.{digits}f}"

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
