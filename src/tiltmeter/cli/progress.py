"""The progress bar of a run, on standard error."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:  # it imports torch, which commands that ask no model do without
    from tiltmeter.engine.execute import Progress as Answered

# The shortest time between two updates of the bar.
_SECONDS_BETWEEN = 0.2


@contextmanager
def answering_bar(label: str) -> Iterator[Callable[["Answered"], None]]:
    """A progress bar with questions per second, the share of padding and the remaining time."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        auto_refresh=False,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(label, total=None, rate="")
        began = stored = drawn = 0.0

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

        yield report


@contextmanager
def no_bar(_label: str) -> Iterator[Callable[["Answered"], None]]:
    """No progress bar."""
    yield lambda _progress: None


@contextmanager
def item_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar of items, told how many are finished and how many there are."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def step_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """A progress bar of steps, told the step, how much of it is done and how much there is, if that is known."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as progress:
        task, current = progress.add_task("", total=None), ""

        def report(step: str, done: int, total: int | None) -> None:
            nonlocal current
            if step != current:
                progress.reset(task, description=step, total=total)
                current = step
            progress.update(task, completed=done, total=total)

        yield report
