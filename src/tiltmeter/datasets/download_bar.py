"""A progress bar for downloads, on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tiltmeter.datasets.download import Progress

WORTH_A_BAR = 1_000_000
"""Bytes; what is smaller is there before a bar would be read."""


@contextmanager
def terminal_bar(name: str) -> Iterator[Progress]:
    """Draws a bar on stderr if that is a terminal and the file is large enough; else draws nothing."""
    with ExitStack() as stack:
        update: Progress | None = None

        def show(received: int, total: int | None) -> None:
            nonlocal update
            if update is None and (total or 0) > WORTH_A_BAR and sys.stderr.isatty():
                update = stack.enter_context(_rich_bar(name))
            if update is not None:
                update(received, total)

        yield show


@contextmanager
def _rich_bar(name: str) -> Iterator[Progress]:
    # Here and not above: most calls never draw, and rich is slow to import.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(name)
        yield lambda received, total: bars.update(task, completed=received, total=total)
