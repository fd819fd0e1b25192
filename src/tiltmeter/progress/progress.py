"""The interface for progress: each step has a label, and reports how many of its units (such as questions) are done."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """A progress report: the number of units of a step that are done, and the total number (None if unknown).

    `padding` is the share of padding tokens in a model's batches; `note` is additional text, such as a training loss.
    """

    done: int
    total: int | None
    padding: float = 0.0
    note: str = ""


ReportProgress = Callable[[Progress], None]
# A function that is called with a label when a step begins. It returns a context manager, which provides the function
# that receives the progress reports of the step.
ShowProgress = Callable[[str], AbstractContextManager[ReportProgress]]


def ignore_progress(_progress: Progress) -> None:
    """Do nothing with a progress report."""


def hide_progress(_label: str) -> AbstractContextManager[ReportProgress]:
    """Return a context manager that shows no progress; it has the type `ShowProgress`."""
    return nullcontext(ignore_progress)
