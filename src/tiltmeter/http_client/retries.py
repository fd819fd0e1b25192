"""Retries after transient failures: too many requests, server errors, lost connections."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import tenacity

from tiltmeter.errors import ModelError

Result = TypeVar("Result")

PAUSES: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Pauses in seconds before the first, second, … retry, unless the server sends a Retry-After header."""
MAX_RETRY_AFTER = 120.0
"""Maximum wait in seconds before a retry; if a Retry-After header asks for a longer wait, an error is raised."""
# 408 Request Timeout, 409 Conflict, 425 Too Early, 429 Too Many Requests.
_RETRIED_STATUSES = {408, 409, 425, 429}
_JITTER = 0.25


class TransientError(Exception):
    """A request failed, but a retry may succeed; `after` is the server's Retry-After in seconds, or None."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after

    @property
    def is_wait_too_long(self) -> bool:
        """Whether the server asks to wait longer than `MAX_RETRY_AFTER`."""
        return self.after is not None and self.after > MAX_RETRY_AFTER


def is_transient(status: int) -> bool:
    """Return whether a request should be sent again if the response has this HTTP status."""
    return status in _RETRIED_STATUSES or status >= 500


def parse_retry_after(header: str | None) -> float | None:
    """Return the seconds to wait according to a Retry-After header; None if the header is missing or invalid.

    >>> [parse_retry_after(header) for header in ("7", "0.5", "Wed, 21 Oct 2015 07:28:00 GMT", None, "soon", "nan")]
    [7.0, 0.5, 0.0, None, None, None]
    """
    if header is None:
        return None
    if header.strip().replace(".", "", 1).isdecimal():
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # the header is not a date, or the date has no time zone
        return None


@dataclass(slots=True)
class Retries:
    """Sends one request again after each TransientError; after the last pause, raises the error of the last attempt."""

    pauses: Sequence[float] = field(default_factory=lambda: PAUSES)
    failures: int = field(default=0, init=False)

    def reset_failures(self) -> None:
        """Set the number of failures to zero; call this if the last attempt received some data."""
        self.failures = 0

    def call_with_retries(self, send: Callable[[], Result]) -> Result:
        """Return the result of `send`; call it again after each TransientError."""
        return tenacity.Retrying(sleep=wait_before_retry, **self._build_rules())(send)

    async def call_async_with_retries(self, send: Callable[[], Awaitable[Result]]) -> Result:
        """Return the awaited result of `send`; call it again after each TransientError."""
        try:
            # Most requests succeed, so the first attempt avoids tenacity, which takes longer than sending a request.
            return await send()
        except TransientError as error:
            failed: TransientError | None = error

        async def attempt() -> Result:
            # The first attempt was made above, so its error is raised again when tenacity makes its first call.
            nonlocal failed
            if failed is not None:
                failure, failed = failed, None
                raise failure
            return await send()

        return await tenacity.AsyncRetrying(sleep=wait_before_retry_async, **self._build_rules())(attempt)

    def explain_failure(self, error: TransientError) -> str:
        """Return the reason for the last failure as a text that continues a sentence whose subject is the server."""
        if error.is_wait_too_long:
            return f"asks to wait {error.after:,.0f} seconds before the next request: {error}"
        return f"failed {self.failures} times in a row: {error}"

    def _build_rules(self) -> dict[str, Any]:
        return {
            "retry": tenacity.retry_if_exception(_should_retry),
            "after": self._count_failure,
            "stop": lambda _state: self.failures > len(self.pauses),
            "wait": self._compute_next_pause,
            "reraise": True,
        }

    def _count_failure(self, _state: tenacity.RetryCallState) -> None:
        self.failures += 1

    def _compute_next_pause(self, state: tenacity.RetryCallState) -> float:
        """Return the seconds before the next retry: the server's Retry-After, or else the next pause.

        A random time is added to a pause, so that parallel requests are not repeated at the same moment.
        """
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, TransientError) and error.after is not None:
            return error.after
        if self.failures > len(self.pauses):  # there is no further attempt
            return 0.0
        return self.pauses[self.failures - 1] * random.uniform(1.0, 1.0 + _JITTER)


def call_with_retries(send: Callable[[], Result], service: str) -> Result:
    """Return the result of `send`, with retries after a TransientError; raise a ModelError if all attempts fail."""
    retries = Retries()
    try:
        return retries.call_with_retries(send)
    except TransientError as error:
        raise ModelError(f"{service} {retries.explain_failure(error)}.") from error


def wait_before_retry(seconds: float) -> None:
    """Wait this number of seconds before a retry."""
    time.sleep(seconds)


async def wait_before_retry_async(seconds: float) -> None:
    """Wait this number of seconds before a retry, without blocking the event loop."""
    await asyncio.sleep(seconds)


def _should_retry(error: BaseException) -> bool:
    return isinstance(error, TransientError) and not error.is_wait_too_long
