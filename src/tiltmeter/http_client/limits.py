"""Limits on the size and the speed of a reply."""

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplyLimits:
    """The maximum size of a reply in bytes, and its minimum speed in bytes per second over `window` seconds."""

    size: int
    speed: float
    window: float


class TooLargeError(Exception):
    """A reply is larger than allowed. The message continues a sentence whose subject is the server."""


class TooSlowError(Exception):
    """A reply is slower than allowed. The message continues a sentence whose subject is the server."""


class ReplyMeter:
    """Counts the bytes of a reply, and raises an error if the reply is too large or too slow (see `ReplyLimits`).

    The speed is measured from the first byte that is not white space, because some servers send spaces to keep the
    connection open.
    """

    def __init__(self, limits: ReplyLimits, received: int = 0) -> None:
        self.limits = limits
        self.received = received
        self._window_start: float | None = None
        self._window_bytes = 0

    def check_announced_size(self, size: int | None) -> None:
        """Raise a TooLargeError if the announced size of a reply exceeds the limit; None means no announced size."""
        if size is not None and size > self.limits.size:
            raise TooLargeError(f"sends more than {self.limits.size:,} bytes")

    def add_block(self, block: bytes) -> None:
        """Count the bytes of a received block; raise an error if the reply is now too large or too slow."""
        self.received += len(block)
        self.check_announced_size(self.received)
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
