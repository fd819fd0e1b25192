"""Limits on the size and the speed of a reply."""

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplyLimits:
    """The maximum size in bytes, and the minimum speed in bytes per second, measured over `window` seconds."""

    size: int
    speed: float
    window: float


class TooLargeError(Exception):
    """A reply is larger than allowed; the message continues a sentence about the server."""


class TooSlowError(Exception):
    """A reply is slower than allowed; the message continues a sentence about the server."""


class ReplyMeter:
    """Counts the bytes of a reply and raises an error when it exceeds a limit.

    The speed is measured from the first byte that is not white space: servers may send blanks to keep connections open.
    """

    def __init__(self, limits: ReplyLimits, received: int = 0) -> None:
        self.limits = limits
        self.received = received
        self._window_start: float | None = None
        self._window_bytes = 0

    def expect(self, size: int | None) -> None:
        """Raise an error if the announced size is too large; None means that the server announced none."""
        if size is not None and size > self.limits.size:
            raise TooLargeError(f"sends more than {self.limits.size:,} bytes")

    def add(self, block: bytes) -> None:
        """Count a received block."""
        self.received += len(block)
        self.expect(self.received)
        now = time.monotonic()
        if self._window_start is None:
            if block.strip():
                self._window_start = now
            return
        self._window_bytes += len(block)
        elapsed = now - self._window_start
        if elapsed > self.limits.window:
            if self._window_bytes < self.limits.speed * elapsed:
                raise TooSlowError(f"sends less than {self.limits.speed:,} bytes per second")
            self._window_start, self._window_bytes = now, 0
