"""The table that a run prints: value, interval and n, a ruler around the ideal, and what it says in words."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.measures.records import Record
from tiltmeter.reports.rows import Row, split, summaries
from tiltmeter.reports.ruler import ASCII, UNICODE, draw, heading
from tiltmeter.reports.words import reading

__all__ = ["print_measures", "reading"]

ASSOCIATION = ("LMS", "SS", "ICAT")
SCALE = (30.0, 70.0)

_ROOMY = 97  # the columns from which on nothing has to be shortened
_SHORT = {"intrasentence": "intra", "intersentence": "inter"}

# A line under the headings and nothing else; the first where a terminal has no line-drawing characters.
_ASCII_BOX = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
_BOX = box.SIMPLE_HEAD


def print_measures(records: Sequence[Record], console: Console) -> None:
    """Print the headline of each model and benchmark: the numbers over all items.

    Where there are LMS, SS and ICAT, a language and part is a row; other measures are listed one under the other.
    """
    for (model, benchmark), found in split(records, "model", "benchmark"):
        headline = [record for record in found if record.view == "all"] or found
        # The protocol of both parts pooled is made of the names of theirs.
        protocols = dict.fromkeys(name for record in headline for name in record.protocol.split(" + "))
        title = f" on {benchmark}, protocol {', '.join(protocols)}"
        console.print(Text.assemble((model, "bold"), title), soft_wrap=True)
        rows = [{r.measure: r for r in some} for _, some in split(headline, "language", "part", "protocol")]
        if all(set(ASSOCIATION) <= row.keys() for row in rows):
            console.print(_association(rows, console))
            for row in summaries(rows):
                place = f"{row['SS'].language} {_part(row['SS'], console)}: "
                console.print(Text.assemble((place, "bold"), reading(row)))
        else:
            console.print(_plain(headline, console))
        console.print()


def _association(rows: Sequence[Row], console: Console) -> Table:
    width = 21 if _roomy(console) else 15
    plain = console.options.ascii_only
    dash = "-" if plain else "–"
    several = len({row["SS"].protocol for row in rows}) > 1
    table = _table(console)
    table.add_column("")
    table.add_column("part", max_width=14 if _roomy(console) else 11)
    for name in (*ASSOCIATION, "n", "p", "ties"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(f"{'SS':^{width}}\n{heading(SCALE, width)}", no_wrap=True, min_width=width)
    for row in rows:
        ss = row["SS"]
        part = _part(ss, console)
        numbers = [
            f"{r.value:.1f}" + (f"\n{r.low:.1f}{dash}{r.high:.1f}" if r.low is not None else "")
            for r in (row[name] for name in ASSOCIATION)
        ]
        ties = f"{row['ties'].value:.0f}" if "ties" in row else ""
        ruler = draw(ss.value, ss.low, ss.high, scale=SCALE, width=width, marks=ASCII if plain else UNICODE)
        cells = (ss.language, f"{part}\n{ss.protocol}" if several else part, *numbers, str(ss.n), _p(ss), ties, ruler)
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _plain(records: Sequence[Record], console: Console) -> Table:
    table = _table(console)
    for name in ("", "part", "group", "measure"):
        table.add_column(name, overflow="fold")
    for name in ("value", "95% interval", "ideal", "n", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in records:
        interval = f"[{r.low:.4g}, {r.high:.4g}]" if r.low is not None else ""
        ideal = f"{r.ideal:g}" if r.ideal is not None else ""
        cells = (r.language, r.part, r.group, r.measure, f"{r.value:.4g}", interval, ideal, str(r.n), _p(r))
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _table(console: Console) -> Table:
    kind = _ASCII_BOX if console.options.ascii_only else _BOX
    return Table(box=kind, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0) if _roomy(console) else 0)


def _roomy(console: Console) -> bool:
    return console.width >= _ROOMY


def _part(record: Record, console: Console) -> str:
    return record.part if _roomy(console) else _SHORT.get(record.part, record.part)


def _p(record: Record) -> str:
    if record.p_value is None:
        return ""
    return "<0.001" if record.p_value < 0.001 else f"{record.p_value:.3f}"
