"""The protocol of progress: a step is shown under a label, and reports how much of it is done."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How many units of a step are done, of how many in all (None: unknown).

    `padding` is the share of padding in a model's batches; `note` is further text, such as the loss of a training.
    """

    done: int
    total: int | None
    padding: float = 0.0
    note: str = ""


ReportProgress = Callable[[Progress], None]
# Called with a label when a step begins; the context manager gives the function that reports its progress.
ShowProgress = Callable[[str], AbstractContextManager[ReportProgress]]


def ignore_progress(_progress: Progress) -> None:
    """Show nothing of a report."""


def hide_progress(_label: str) -> AbstractContextManager[ReportProgress]:
    """Show nothing of a step."""
    return nullcontext(ignore_progress)
