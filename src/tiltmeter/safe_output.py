"""Everything that a command prints passes here: what a terminal would obey is shown, unless Tiltmeter itself styled it.

Data, names of models and messages of servers may hold escape sequences. Rich keeps texts and styles apart until they
are written, so that the texts can be made safe in between; all else is text.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from tiltmeter.printable_text import escape_unsafe
from tiltmeter.redaction import redact_secrets

# The file name of an error in writing it.
STANDARD_OUTPUT = "standard output"


class StyledText(str):
    """A text with escape sequences of ours, whose other parts are safe."""

    __slots__ = ()


class GuardedStream:
    """Standard output or error; `is_message`: what is written is for people, and must not hold a password.

    Messages that cannot be written, as on a full disk, are dropped: the work goes on. An error in writing the output is
    raised, with the stream in place of a file name.
    """

    def __init__(self, stream: TextIO, *, is_message: bool) -> None:
        self._stream, self._is_message = stream, is_message

    def write(self, text: str) -> int:
        """Write a text, made safe; the length is that of the text."""
        safe = (
            str(text)
            if isinstance(text, StyledText)
            else escape_unsafe(redact_secrets(text) if self._is_message else text)
        )
        try:
            self._stream.write(safe)
        except OSError as error:
            self._on_error(error)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            self._stream.flush()
        except OSError as error:
            self._on_error(error)

    def _on_error(self, error: OSError) -> None:
        if not self._is_message:
            error.filename = STANDARD_OUTPUT
            raise error
        discard_output(self._stream)

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
def guard_output() -> Iterator[None]:
    """Make what is printed within the context safe, by whatever it is printed."""
    open_closed_streams()
    out, err = sys.stdout, sys.stderr
    sys.stdout = GuardedStream(out, is_message=False)
    sys.stderr = GuardedStream(err, is_message=True)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


def discard_output(stream: TextIO) -> None:
    """Discard what a stream could not write, and all that is written to it later."""
    with suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def open_closed_streams() -> None:
    """Open the standard streams that the caller closed, as in `tiltmeter show >&-`.

    Otherwise the next file that is opened gets their number, and what libraries print is written into it. What is
    printed to a closed output cannot be written, which is an error; messages to a closed standard error are dropped.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            # The lowest free number, which is that of the closed stream; a file that is only read refuses all output.
            handle = os.open(os.devnull, flags)
            stream = open(handle, mode, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


@cache
def _make_rich_safe() -> None:
    """Make the texts safe that Rich styles, Typer's among them, wherever it writes them to."""
    from rich.console import Console  # some commands do without it
    from rich.segment import Segment

    render = Console._render_buffer

    def render_safely(console: Console, buffer: Iterable[Segment]) -> str:
        # Rich's own movements of the cursor are segments of their own.
        return StyledText(render(console, (part if part.control else _safe(part) for part in buffer)))

    def _safe(part: Segment) -> Segment:
        return Segment(escape_unsafe(part.text), part.style)

    Console._render_buffer = render_safely  # type: ignore[method-assign, assignment]
