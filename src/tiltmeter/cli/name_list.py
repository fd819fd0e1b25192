"""Print lists of names with descriptions. Rich is not used, because importing rich slows short commands."""

import os
import shutil
import sys
from textwrap import fill

import typer


def print_entry(label: str, text: str, indent: int) -> None:
    """Print a label and a text; in a terminal, wrap the text, and indent lines after the first by `indent` spaces."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        text = fill(
            text,
            max(shutil.get_terminal_size().columns, indent + 20),
            initial_indent=label,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        label = ""
    typer.echo(label + text)
