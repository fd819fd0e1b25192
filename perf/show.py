"""Tables in the terminal, with rich if it is installed, and records as JSON."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        _plain(title, columns, rows)
        return
    grid = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        grid.add_column(column, justify="right" if number else "left")
    for row in rows:
        grid.add_row(*row)
    console = Console()
    if not console.is_terminal:  # a file or a pipe has no width
        console.width = 140
    console.print(grid)


def _plain(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[index]) for row in (columns, *rows)) for index in range(len(columns))]
    print(f"\n{title}")
    for row in (columns, *rows):
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join([first.strip().ljust(widths[0]), *others]))


def title(record: Mapping[str, Any]) -> str:
    """Return the title of a record: workload, model and number of items."""
    return f"{record['workload']}, {record['model']} ({record['kind']}, {record['dtype']}), {record['items']:,} items"


def write_json(record: Any, path: Path | None) -> None:
    """Write a record to a file, if one is given."""
    if path is not None:
        path.write_text(json.dumps(record, indent=2) + "\n")


def megabytes(count: float) -> str:
    """Return bytes as megabytes."""
    return f"{count / 1e6:,.0f} MB"
