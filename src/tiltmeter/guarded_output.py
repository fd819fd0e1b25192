"""Everything that a command prints passes here: what a terminal would obey is shown, unless Tiltmeter itself styled it.

Data, names of models and messages of servers may hold escape sequences. Rich keeps texts and styles apart until they
are written, so that the texts can be made safe in between; all else is text.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TextIO

from tiltmeter.addresses import without_secrets
from tiltmeter.printable import visible


class Styled(str):
    """A text with escape sequences of ours, whose other parts are safe."""

    __slots__ = ()


class GuardedStream:
    """Standard output or error; `is_message`: what is written is for people, and must not hold a password."""

    def __init__(self, stream: TextIO, *, is_message: bool) -> None:
        self._stream, self._is_message = stream, is_message

    def write(self, text: str) -> int:
        """Write a text, made safe; the length is that of the text."""
        if not isinstance(text, Styled):
            self._stream.write(visible(without_secrets(text) if self._is_message else text))
        else:
            self._stream.write(str(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    @property
    def rich_proxied_file(self) -> "GuardedStream":
        """The stream that Rich writes to; it asks every stream for this, before it styles anything."""
        _make_rich_safe()
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guarded_output() -> Iterator[None]:
    """Make what is printed within the context safe, by whatever it is printed."""
    out, err = sys.stdout, sys.stderr
    sys.stdout = GuardedStream(out, is_message=False)
    sys.stderr = GuardedStream(err, is_message=True)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


@cache
def _make_rich_safe() -> None:
    """Make the texts safe that Rich styles, Typer's among them, wherever it writes them to."""
    from rich.console import Console  # some commands do without it
    from rich.segment import Segment

    render = Console._render_buffer

    def render_safely(console: Console, buffer: Iterable[Segment]) -> str:
        # Rich's own movements of the cursor are segments of their own.
        return Styled(render(console, (part if part.control else _safe(part) for part in buffer)))

    def _safe(part: Segment) -> Segment:
        return Segment(visible(part.text), part.style)

    Console._render_buffer = render_safely  # type: ignore[method-assign, assignment]
