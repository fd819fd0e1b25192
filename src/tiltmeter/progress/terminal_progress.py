"""Progress on standard error: a progress bar if standard error is a terminal, otherwise one line per minute."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tiltmeter.printable_text import create_plain_console
from tiltmeter.progress.pace import Pace, describe_progress, describe_speed
from tiltmeter.progress.progress import Progress, ReportProgress

if TYPE_CHECKING:  # imported only when needed: rich is slow to import, and most commands show no progress
    from rich.console import Console

SECONDS_BETWEEN_BARS = 0.2
"""Minimum number of seconds between two updates of a bar."""
SECONDS_BETWEEN_LINES = 60.0
"""Minimum number of seconds between two lines in a log file."""
MIN_DOWNLOAD = 1_000_000
"""Minimum size in bytes of a download with a progress bar."""


@contextmanager
def show_in_terminal(label: str) -> Iterator[ReportProgress]:
    """Show a progress bar for a step if standard error is a terminal, otherwise print a line per minute."""
    console = create_plain_console(stderr=True)
    with _show_bar(label, console) if console.is_terminal else _show_lines(label, console) as report:
        yield report


@contextmanager
def show_download(label: str) -> Iterator[ReportProgress]:
    """Show a progress bar that counts the bytes of a large download, if standard error is a terminal."""
    with ExitStack() as stack:
        update: ReportProgress | None = None

        def report(now: Progress) -> None:
            nonlocal update
            if update is None and (now.total or 0) > MIN_DOWNLOAD and sys.stderr.isatty():
                update = stack.enter_context(_show_bar(label, create_plain_console(stderr=True), in_bytes=True))
            if update is not None:
                update(now)

        yield report


@contextmanager
def _show_bar(label: str, console: "Console", *, in_bytes: bool = False) -> Iterator[ReportProgress]:
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    with Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}", markup=False),
        TimeRemainingColumn(),
        console=console,
        auto_refresh=False,
        transient=in_bytes,
    ) as bars:
        task, pace, drawn = bars.add_task(label, total=None, speed=""), Pace(), 0.0

        def report(now: Progress) -> None:
            nonlocal drawn
            pace.update(now)
            is_last = now.total is not None and now.done >= now.total
            if pace.ended - drawn < SECONDS_BETWEEN_BARS and not is_last:
                return
            drawn = pace.ended
            speed = "" if in_bytes else describe_speed(now, pace)
            bars.update(task, total=now.total, completed=now.done, speed=speed)
            bars.refresh()

        yield report


@contextmanager
def _show_lines(label: str, console: "Console") -> Iterator[ReportProgress]:
    pace, printed = Pace(), time.monotonic()

    def report(now: Progress) -> None:
        nonlocal printed
        pace.update(now)
        if pace.ended - printed >= SECONDS_BETWEEN_LINES:
            printed = pace.ended
            text = f"{label}: {describe_progress(now, pace)}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)

    yield report
