"""Tables in the terminal: one style for results, comparisons, gates and reproductions."""

from collections.abc import Collection, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import PaddingDimensions
from rich.table import Table
from rich.text import Text

_ROOMY = 97  # the width in columns from which on nothing is shortened
WIDE = 76  # the width from which on tables have intervals over members; below it, only sentences do
_FOLDED = 14  # columns that the label of a row has at least where there is little room
_SHORT_PARTS = {"intrasentence": "intra", "intersentence": "inter"}
# A line below the headings and nothing else, without line-drawing characters.
_ASCII_BOX = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


def create_table(console: Console, *, padding: PaddingDimensions = (0, 1, 0, 0), edges: bool = False) -> Table:
    """An empty table with a line below its headings; with `edges`, an empty line above and below it."""
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
    """Print a table in which no number is cut, and below it the names of columns that this terminal has no room for.

    The first `labels` columns say what a row is about and are folded where they are long. `optional` are the headings
    of columns that may be left out, the first of them first; `bold` are the numbers of rows in bold.
    """
    roomy, left_out = is_wide_terminal(console), []
    shown = [column for column in range(len(heads)) if column < labels or any(row[column] for row in rows)]
    texts = [[heads[column], *(str(row[column]) for row in rows)] for column in range(len(heads))]
    widths = [max(cell_len(line) for text in column for line in text.split("\n")) for column in texts]
    needed = [min(width, _FOLDED) if column < labels else width for column, width in enumerate(widths)]
    for name in optional:
        if sum(needed[column] for column in shown) + (1 + roomy) * (len(shown) - 1) <= console.width - edges:
            break
        dropped = [column for column in shown if column >= labels and heads[column] == name]
        left_out += [name] if dropped else []
        shown = [column for column in shown if column not in dropped]
    table = create_table(console, padding=(0, 1, 0, 0) if roomy else 0, edges=edges)
    for column in shown:
        if column < labels:
            table.add_column(heads[column], overflow="fold", min_width=needed[column])
        else:
            table.add_column(heads[column], justify="right", no_wrap=True)
    for number, row in enumerate(rows):
        cells = (Text(cell) if isinstance(cell := row[column], str) else cell for column in shown)
        table.add_row(*cells, style="bold" if number in bold else None)
    console.print(table)
    if left_out:
        names = ", ".join(" ".join(name.split()) for name in left_out)
        console.print(Text(f"Too narrow for {names}; a wider terminal shows more.", style="dim"))


def is_wide_terminal(console: Console) -> bool:
    """Whether the terminal is wide enough for all columns and full names."""
    return console.width >= _ROOMY


def format_part(part: str, console: Console) -> str:
    """The name of a part, shortened on a narrow terminal."""
    return part if is_wide_terminal(console) else _SHORT_PARTS.get(part, part)
