"""The progress bar of a run in a notebook; nothing elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from tiltmeter.engine.execution import Progress

_SECONDS_BETWEEN = 0.2


@contextmanager
def show_notebook_bar(label: str) -> Iterator[Callable[[Progress], None]]:
    """A progress bar of answered questions, if this is a notebook.

    It is plain HTML, updated in place, so that it needs no widgets.
    """
    display = _find_display()
    if display is None:
        yield lambda _progress: None
        return
    handle = display({"text/plain": label, "text/html": _render_bar(label, None)}, raw=True, display_id=True)
    drawn = 0.0

    def report(now: Progress) -> None:
        nonlocal drawn
        clock = time.monotonic()
        if clock - drawn >= _SECONDS_BETWEEN or now.answered >= now.questions:
            drawn = clock
            text = f"{label}: {now.answered:,} of {now.questions:,} questions answered"
            handle.update({"text/plain": text, "text/html": _render_bar(label, now)}, raw=True)

    yield report


def _render_bar(label: str, now: Progress | None) -> str:
    if now is None:
        return f"<label>{escape(label)} <progress></progress></label>"
    count = f"{now.answered:,} of {now.questions:,} questions answered"
    return (
        f'<label>{escape(label)} <progress value="{now.answered}" max="{max(now.questions, 1)}"></progress> '
        f"{count}</label>"
    )


def _find_display() -> Callable[..., Any] | None:
    """IPython's `display`, if this process is the kernel of a notebook; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    found: Callable[..., Any] = import_module("IPython.display").display
    return found
