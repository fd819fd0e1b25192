"""The progress bar of a run, on standard error."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tiltmeter.printable_text import create_plain_console

if TYPE_CHECKING:  # it imports torch, which commands that ask no model do without
    from tiltmeter.engine.execution import Progress as Answered

# The shortest time between two updates of the bar.
_SECONDS_BETWEEN = 0.2
# The time between two lines where there is no terminal.
SECONDS_BETWEEN_LINES = 60.0


class _MinuteLine:
    """A line on the progress every minute where there is no terminal for a bar, as in a log of a cluster."""

    def __init__(self, console: Console, label: str) -> None:
        self.label = label
        self._console = console
        self._told = time.monotonic()
        # Time and count since the first answers: what comes before them, such as loading the weights, comes once.
        self._first: tuple[float, int] | None = None
        self._stored: int | None = None

    def tell(self, done: int, total: int | None, more: str = "") -> None:
        """Print the line, if the last one is a minute old."""
        now = time.monotonic()
        if self._stored is None:
            self._stored = done
        elif self._first is None and done > self._stored:
            self._first = now, done
        if self._console.is_terminal or now - self._told < SECONDS_BETWEEN_LINES:
            return
        self._told = now
        began, first = self._first or (now, done)
        made, of = done - first, f" of {total:,}" if total else ""
        left = f", about {_format_duration((total - done) * (now - began) / made)} left" if total and made > 0 else ""
        self._console.print(f"{self.label}: {done:,}{of}{more}{left}", markup=False, highlight=False, soft_wrap=True)


def _format_duration(seconds: float) -> str:
    """A time in words.

    >>> _format_duration(40), _format_duration(200), _format_duration(9000)
    ('1 minute', '4 minutes', '2.5 hours')
    """
    minutes = math.ceil(seconds / 60)
    if minutes > 90:
        return f"{minutes / 60:.1f} hours"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


@contextmanager
def show_answer_progress(label: str) -> Iterator[Callable[["Answered"], None]]:
    """A progress bar with questions per second, the share of padding and the remaining time."""
    console = create_plain_console(stderr=True)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(),
        console=console,
        auto_refresh=False,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(label, total=None, rate="")
        began = stored = drawn = 0.0
        line = _MinuteLine(console, label)

        def report(now: "Answered") -> None:
            nonlocal began, stored, drawn
            clock = time.monotonic()
            if not began:
                began, stored = clock, now.answered
            elif clock - drawn < _SECONDS_BETWEEN and now.answered < now.questions:
                return
            drawn = clock
            rate = (now.answered - stored) / (clock - began) if clock > began else 0.0
            padding = f", padding {now.padding:.1%}" if now.padding else ""
            text = f"{rate:,.0f}/s{padding}" if rate else "stored" if now.answered else ""
            progress.update(task, total=now.questions, completed=now.answered, rate=text)
            progress.refresh()
            line.tell(now.answered, now.questions, f", {text}" if rate else "")

        yield report


@contextmanager
def hide_progress(_label: str) -> Iterator[Callable[["Answered"], None]]:
    """No progress bar."""
    yield lambda _progress: None


@contextmanager
def show_item_progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar of items, told how many are finished and how many there are."""
    console = create_plain_console(stderr=True)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as progress:
        task, line = progress.add_task(label, total=None), _MinuteLine(console, label)

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)
            line.tell(done, total)

        yield report


@contextmanager
def show_step_progress() -> Iterator[Callable[[str, int, int | None], None]]:
    """A progress bar of steps, told the step, how much of it is done and how much there is, if that is known."""
    console = create_plain_console(stderr=True)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as progress:
        task, current, line = progress.add_task("", total=None), "", _MinuteLine(console, "")

        def report(step: str, done: int, total: int | None) -> None:
            nonlocal current
            if step != current:
                progress.reset(task, description=step, total=total)
                current = step
            progress.update(task, completed=done, total=total)
            line.label = step
            line.tell(done, total)

        yield report
