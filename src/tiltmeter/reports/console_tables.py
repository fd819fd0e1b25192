"""Tables in the terminal: one style for results, comparisons, gates and reproductions."""

from rich import box
from rich.console import Console
from rich.padding import PaddingDimensions
from rich.table import Table

_ROOMY = 97  # the width in columns from which on nothing is shortened
WIDE = 76  # the width from which on tables have intervals over members; below it, only sentences do
_SHORT_PARTS = {"intrasentence": "intra", "intersentence": "inter"}
# A line below the headings and nothing else, without line-drawing characters.
_ASCII_BOX = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


def new_table(console: Console, *, padding: PaddingDimensions = (0, 1, 0, 0), edges: bool = False) -> Table:
    """An empty table with a line below its headings; with `edges`, an empty line above and below it."""
    return Table(
        box=_ASCII_BOX if console.options.ascii_only else box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=edges,
        padding=padding,
    )


def is_roomy(console: Console) -> bool:
    """Whether the terminal is wide enough for all columns and full names."""
    return console.width >= _ROOMY


def part_name(part: str, console: Console) -> str:
    """The name of a part, shortened on a narrow terminal."""
    return part if is_roomy(console) else _SHORT_PARTS.get(part, part)
