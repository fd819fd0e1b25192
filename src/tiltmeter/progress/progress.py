"""The interface of progress: a step has a label and reports how many of its units are done."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """The number of units of a step that are done, and the total (None if unknown).

    `padding` is the share of padding in a model's batches; `note` is additional text, such as a training loss.
    """

    done: int
    total: int | None
    padding: float = 0.0
    note: str = ""


ReportProgress = Callable[[Progress], None]
# Called with a label when a step begins; the context manager returns the function that receives progress reports.
ShowProgress = Callable[[str], AbstractContextManager[ReportProgress]]


def ignore_progress(_progress: Progress) -> None:
    """Ignore a progress report."""


def hide_progress(_label: str) -> AbstractContextManager[ReportProgress]:
    """Show no progress for a step."""
    return nullcontext(ignore_progress)
