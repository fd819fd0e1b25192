"""Progress bars in Jupyter notebooks; outside of notebooks, nothing is shown."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from tiltmeter.progress.pace import Pace, describe_progress
from tiltmeter.progress.progress import Progress, ReportProgress, ignore_progress

# Minimum number of seconds between two updates of a bar.
_SECONDS_BETWEEN = 0.2


@contextmanager
def show_in_notebook(label: str) -> Iterator[ReportProgress]:
    """Show a progress bar if this process is a notebook kernel. The bar is plain HTML without Jupyter widgets."""
    display = _find_display()
    if display is None:
        yield ignore_progress
        return
    handle = display(_render_bar(label, None, ""), raw=True, display_id=True)
    pace, drawn = Pace(), 0.0

    def report(now: Progress) -> None:
        nonlocal drawn
        pace.update(now)
        if pace.ended - drawn >= _SECONDS_BETWEEN or now.done == now.total:
            drawn = pace.ended
            handle.update(_render_bar(label, now, describe_progress(now, pace)), raw=True)

    yield report


def _render_bar(label: str, now: Progress | None, text: str) -> dict[str, str]:
    values = f' value="{now.done}" max="{max(now.total, 1)}"' if now is not None and now.total is not None else ""
    html = f"<label>{escape(label)} <progress{values}></progress> {escape(text)}</label>"
    return {"text/plain": f"{label}: {text}", "text/html": html}


def _find_display() -> Callable[..., Any] | None:
    """Return IPython's function `display` if this process is a notebook kernel, else None; never import IPython."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    found: Callable[..., Any] = import_module("IPython.display").display
    return found
