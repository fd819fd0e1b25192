"""Terminal tables in the layout of a paper; columns that do not fit side by side are printed below the others."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tiltmeter.reports.console_tables import create_table, get_column_gap
from tiltmeter.reports.layouts.laid_out_table import LaidOutTable, list_notes

# Replacements of characters that an ASCII terminal cannot print.
_ASCII = str.maketrans({"—": "-", "±": "+-"})

# Longer labels of rows, such as full names of models, are continued on the next line.
_LABEL_WIDTH = 32


def print_layout(tables: Sequence[LaidOutTable], console: Console) -> None:
    """Print each table with its title, then the notes on all tables."""
    for table in tables:
        console.print(Text(table.title, "bold"))
        for columns in _split_columns(table, console):
            _print_columns(table, columns, console)
        console.print()
    for note in list_notes(tables):
        console.print(Text(note, "dim"))


def _print_columns(table: LaidOutTable, columns: Sequence[int], console: Console) -> None:
    grid = create_table(console, padding=(0, get_column_gap(console) - 1, 0, 0))
    for head in table.heads:
        grid.add_column(head, overflow="fold", max_width=_LABEL_WIDTH)
    above: tuple[str, ...] = ()
    for column in columns:
        *groups, last = table.columns[column]
        shown = ("" if group == before else group for group, before in zip(groups, above or [""] * 9, strict=False))
        grid.add_column("\n".join([*shown, last]), justify="right", no_wrap=True)
        above = tuple(groups)
    for number, block in enumerate(table.blocks):
        if number:
            grid.add_section()
        if block.heading:
            grid.add_row(Text(block.heading, "italic"))
        for row in block.rows:
            cells = (row.cells[column] for column in columns)
            texts = (Text(_format(cell.text, console), "bold" if cell.bold else "") for cell in cells)
            grid.add_row(*map(Text, row.labels), *texts)
    console.print(grid)


def _split_columns(table: LaidOutTable, console: Console) -> Iterator[list[int]]:
    """Yield lists of columns that fit side by side; a group of columns is divided only if it is too wide."""
    rows = [row for block in table.blocks for row in block.rows]
    gap = get_column_gap(console)
    labels = [[head, *(row.labels[at] for row in rows)] for at, head in enumerate(table.heads)]
    labels[0] += [block.heading for block in table.blocks]
    label_widths = [min(max(map(cell_len, column)), _LABEL_WIDTH) for column in labels]
    room = console.width - sum(label_widths) - gap * len(labels[1:])
    texts = ((*headings, *(row.cells[at].text for row in rows)) for at, headings in enumerate(table.columns))
    widths = [gap + max(cell_len(_format(text, console)) for text in column) for column in texts]
    taken: list[int] = []
    start = 0
    for _, count in table.group_headings(0):
        group = list(range(start, start + count))
        start += count
        if taken and sum(widths[at] for at in (*taken, *group)) > room:
            yield taken
            taken = []
        for column in group:
            if taken and sum(widths[at] for at in (*taken, column)) > room:
                yield taken
                taken = []
            taken.append(column)
    yield taken


def _format(text: str, console: Console) -> str:
    return text.translate(_ASCII) if console.options.ascii_only else text
