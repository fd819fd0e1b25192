"""Terminal tables with the same style for all commands."""

from collections.abc import Collection, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import PaddingDimensions
from rich.table import Table
from rich.text import Text

from tiltmeter.measures.records import Record
from tiltmeter.reports.formatting import format_interval

_FULL_WIDTH = 97  # minimum width of the terminal, in characters, for full names and all columns
MEMBER_WIDTH = 76  # minimum width of the terminal, in characters, for the columns "over members" of a group comparison
_LABEL_WIDTH = 14  # minimum width of a row label, in characters; longer labels are folded
_SHORT_PARTS = {"intrasentence": "intra", "intersentence": "inter"}
# A style of tables with a line below the headings, for terminals without line-drawing characters.
_ASCII_BOX = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


def create_table(console: Console, *, padding: PaddingDimensions = (0, 1, 0, 0), edges: bool = False) -> Table:
    """Return an empty table with a line below its headings.

    If `edges` is true, the table has an empty line above and below it.
    """
    return Table(
        box=_ASCII_BOX if console.options.ascii_only else box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=edges,
        padding=padding,
    )


def print_fitting_table(
    console: Console,
    heads: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    labels: int = 1,
    optional: Sequence[str] = (),
    bold: Collection[int] = (),
    edges: bool = False,
) -> None:
    """Print a table that fits the terminal; numbers are never cut.

    `optional` are the headings of columns that may be left out; the first heading is left out first. The names of the
    columns that were left out are printed below the table. The first `labels` columns are row labels; long labels are
    folded. `bold` are the indexes of the rows in bold.
    """
    gap, left_out = get_column_gap(console), []
    shown = [column for column in range(len(heads)) if column < labels or any(row[column] for row in rows)]
    texts = [[heads[column], *(str(row[column]) for row in rows)] for column in range(len(heads))]
    widths = [max(cell_len(line) for text in column for line in text.split("\n")) for column in texts]
    needed = [min(width, _LABEL_WIDTH) if column < labels else width for column, width in enumerate(widths)]
    for name in optional:
        if sum(needed[column] for column in shown) + gap * (len(shown) - 1) <= console.width - edges:
            break
        dropped = [column for column in shown if column >= labels and heads[column] == name]
        left_out += [name] if dropped else []
        shown = [column for column in shown if column not in dropped]
    table = create_table(console, padding=(0, gap - 1, 0, 0), edges=edges)
    for column in shown:
        if column < labels:
            table.add_column(heads[column], overflow="fold", min_width=needed[column])
        else:
            table.add_column(heads[column], justify="right", no_wrap=True)
    for number, row in enumerate(rows):
        cells = (Text(cell) if isinstance(cell := row[column], str) else cell for column in shown)
        table.add_row(*cells, style="bold" if number in bold else None)
    console.print(table)
    print_left_out_columns(left_out, console)


def print_left_out_columns(names: Sequence[str], console: Console) -> None:
    """Print the names of columns left out because the terminal is too narrow; print nothing if `names` is empty."""
    if names:
        listed = ", ".join(" ".join(name.split()) for name in names)
        console.print(Text(f"The terminal is too narrow for these columns: {listed}.", style="dim"))


def is_wide_terminal(console: Console) -> bool:
    """Return whether the terminal is wide enough for all columns and full names."""
    return console.width >= _FULL_WIDTH


def get_column_gap(console: Console) -> int:
    """Return the number of spaces between two columns of a table."""
    return 2 if is_wide_terminal(console) else 1


def format_part(part: str, console: Console) -> str:
    """Return the name of a part of a benchmark, shortened if the terminal is narrow."""
    return part if is_wide_terminal(console) else _SHORT_PARTS.get(part, part)


def format_range(record: Record, console: Console) -> str:
    """Return the interval of a record, such as `55.5–58.5`; if its lower end is negative, "to" replaces the dash."""
    dash = "-" if console.options.ascii_only else "–"
    between = " to " if record.low is not None and record.low < 0 else dash
    return format_interval(record, f"{{}}{between}{{}}")
