"""A progress bar for downloads."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tiltmeter.datasets.http_download import Progress
from tiltmeter.printable_text import create_plain_console

MIN_SIZE = 1_000_000
"""Bytes; smaller files get no bar."""


@contextmanager
def show_download_bar(name: str) -> Iterator[Progress]:
    """Draw a progress bar on stderr if it is a terminal and the file is large enough."""
    with ExitStack() as stack:
        update: Progress | None = None

        def show(received: int, total: int | None) -> None:
            nonlocal update
            if update is None and (total or 0) > MIN_SIZE and sys.stderr.isatty():
                update = stack.enter_context(_show_rich_bar(name))
            if update is not None:
                update(received, total)

        yield show


@contextmanager
def _show_rich_bar(name: str) -> Iterator[Progress]:
    # Imported here: rich is slow to import, and most calls draw nothing.
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=create_plain_console(stderr=True), transient=True) as bars:
        task = bars.add_task(name)
        yield lambda received, total: bars.update(task, completed=received, total=total)
