"""The table that a run prints: value, interval and n, a ruler around the ideal, and what it says in words."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.measures.records import Record
from tiltmeter.reports.ruler import ASCII, UNICODE, draw, heading

ASSOCIATION = ("LMS", "SS", "ICAT")
SCALE = (30.0, 70.0)
NOISE = 0.05  # the level of the test that a lean has to pass

_ROOMY = 97  # the columns from which on nothing has to be shortened
_SHORT = {"intrasentence": "intra", "intersentence": "inter"}

# A line under the headings and nothing else; the first where a terminal has no line-drawing characters.
_ASCII_BOX = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
_BOX = box.SIMPLE_HEAD

# The records of one model, language, part and protocol, by measure.
Row = dict[str, Record]


def print_measures(records: Sequence[Record], console: Console) -> None:
    """Print the headline of each model and benchmark: the numbers over all items.

    Where there are LMS, SS and ICAT, a language and part is a row; other measures are listed one under the other.
    """
    for (model, benchmark), found in _split(records, "model", "benchmark"):
        headline = [record for record in found if record.view == "all"] or found
        # The protocol of both parts pooled is made of the names of theirs.
        protocols = dict.fromkeys(name for record in headline for name in record.protocol.split(" + "))
        title = f" on {benchmark}, protocol {', '.join(protocols)}"
        console.print(Text.assemble((model, "bold"), title), soft_wrap=True)
        rows = [{r.measure: r for r in some} for _, some in _split(headline, "language", "part", "protocol")]
        if all(set(ASSOCIATION) <= row.keys() for row in rows):
            console.print(_association(rows, console))
            for row in _summaries(rows):
                place = f"{row['SS'].language} {_part(row['SS'], console)}: "
                console.print(Text.assemble((place, "bold"), reading(row)))
        else:
            console.print(_plain(headline, console))
        console.print()


def reading(row: Row) -> str:
    """What SS says, in words.

    The exact test tells a lean from noise. Its direction is that of the items which are decided: in SS a tie counts
    against the stereotype, but it shows no preference.
    """
    ss, lms = row["SS"], row["LMS"]
    ties = int(row["ties"].value) if "ties" in row else 0
    number = f"SS {ss.value:.1f}" + (f" [{ss.low:.1f}, {ss.high:.1f}]" if ss.low is not None else "")
    if ss.p_value is None or ss.p_value >= NOISE:
        words = f"no lean that n={ss.n} could tell from noise: {number}"
    else:
        for_stereotype = round(ss.value * ss.n / 100)
        towards = for_stereotype > ss.n - ties - for_stereotype
        words = f"leans {'towards' if towards else 'against'} stereotypes: {number}, more than noise"
        if towards and ss.value < 50:
            words += f"; SS is below 50 because {ties} ties count against the stereotype"
    if (lms.value if lms.low is None else lms.low) <= 50:
        words += "; LMS is no better than chance, so SS means little"
    return words


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


def _summaries(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows to put into words: for each language both parts together, or where there is only one, that one."""
    pooled = {row["SS"].language for row in rows if row["SS"].part == "overall"}
    return (row for row in rows if row["SS"].part == "overall" or row["SS"].language not in pooled)


def _split(records: Sequence[Record], *names: str) -> Iterator[tuple[tuple[str, ...], list[Record]]]:
    """The records that agree in these fields, in the order in which they first come up."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(getattr(record, name) for name in names), []).append(record)
    yield from groups.items()
