"""Standard streams that escape control characters in all output, except the escape sequences of Tiltmeter's styles.

Data, names of models and messages of servers may contain escape sequences. A text that Rich prints is escaped before
Rich adds the styles. All other output is escaped completely.
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

# The value of the attribute `filename` of an OSError, if writing to standard output raised the error.
STANDARD_OUTPUT = "standard output"


class StyledText(str):
    """A text that is printed unchanged: it contains the escape sequences of styles, and the rest is already escaped."""

    __slots__ = ()


class GuardedStream:
    """A stream that writes to standard output, or if `is_message` to standard error, after escaping each text.

    Secrets are removed from messages. A message that cannot be written is dropped, so that the work continues. If
    standard output cannot be written, an OSError with the `filename` STANDARD_OUTPUT is raised.
    """

    def __init__(self, stream: TextIO, *, is_message: bool) -> None:
        self._stream, self._is_message = stream, is_message

    def write(self, text: str) -> int:
        """Write a text after escaping it, and return the length of the original text."""
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
        """Write the buffered text."""
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
        """This stream. Rich reads this attribute before it writes, so the escaping in Rich is enabled here."""
        _make_rich_safe()
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guard_output() -> Iterator[None]:
    """Escape control characters in everything that the `with` block prints."""
    open_closed_streams()
    out, err = sys.stdout, sys.stderr
    sys.stdout = GuardedStream(out, is_message=False)
    sys.stderr = GuardedStream(err, is_message=True)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


def discard_output(stream: TextIO) -> None:
    """Redirect a stream to the null device: discard its buffered text and everything that is written later."""
    with suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def open_closed_streams() -> None:
    """Open standard streams that the caller closed, as in `tiltmeter show >&-`.

    Otherwise the next opened file would get the file descriptor of the stream, and libraries would print into that
    file. If standard output was closed, writing to it is an error. If standard error was closed, messages are dropped.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            # The new file gets the lowest free file descriptor, which is the descriptor of the closed stream. Standard
            # output is opened read-only, so that writing to it is an error.
            handle = os.open(os.devnull, flags)
            stream = open(handle, mode, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


@cache
def _make_rich_safe() -> None:
    """Make Rich escape all texts that it prints, also the texts of Typer."""
    from rich.console import Console  # imported here, because importing rich slows short commands
    from rich.segment import Segment

    render = Console._render_buffer

    def render_safely(console: Console, buffer: Iterable[Segment]) -> str:
        # Segments with `control` are cursor movements of Rich itself, so they are not escaped.
        return StyledText(render(console, (part if part.control else _escape(part) for part in buffer)))

    def _escape(part: Segment) -> Segment:
        return Segment(escape_unsafe(part.text), part.style)

    Console._render_buffer = render_safely  # type: ignore[method-assign, assignment]
