"""Lists of names and what they mean; without rich, whose import slows a short command."""

import os
import shutil
import sys
from textwrap import fill

import typer


def print_entry(lead: str, text: str, indent: int) -> None:
    """Print a text after its lead; in a terminal it is wrapped, and the lines below the first are indented."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        text = fill(
            text,
            max(shutil.get_terminal_size().columns, indent + 20),
            initial_indent=lead,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lead = ""
    typer.echo(lead + text)
