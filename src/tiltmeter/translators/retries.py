"""Retries after transient failures: throttling, server errors, lost connections."""

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

import tenacity

from tiltmeter.errors import ModelError

Result = TypeVar("Result")

PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds to wait before each retry, unless the server sends Retry-After."""
MAX_RETRY_AFTER = 120.0
"""Seconds; a longer Retry-After is an error."""

_REQUEST_TIMEOUT, _TOO_MANY_REQUESTS = 408, 429


class TransientError(Exception):
    """A request failed, and a retry may succeed; `after` is the server's Retry-After in seconds, if it sent one."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after

    @property
    def too_long(self) -> bool:
        """Whether the server asks for a longer pause than is waited for."""
        return self.after is not None and self.after > MAX_RETRY_AFTER


def is_transient(status: int) -> bool:
    """Whether a request with this HTTP status should be retried."""
    return status in (_REQUEST_TIMEOUT, _TOO_MANY_REQUESTS) or status >= 500


def parse_retry_after(header: str | None) -> float | None:
    """The seconds of a Retry-After header, which has a number or a date; None if it is missing or invalid.

    >>> [parse_retry_after(header) for header in ("7", "Wed, 21 Oct 2015 07:28:00 GMT", None, "soon")]
    [7.0, 0.0, None, None]
    """
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # not a date, or one without a time zone
        return None


def call_with_retries(send: Callable[[], Result], service: str) -> Result:
    """Call `send`, and retry after a TransientError until `PAUSES` is exhausted."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, TransientError) and not error.too_long),
        stop=tenacity.stop_after_attempt(len(PAUSES) + 1),
        wait=_compute_pause,
        sleep=time.sleep,
        reraise=True,
    )
    try:
        return retrying(send)
    except TransientError as failure:
        if failure.too_long:
            raise ModelError(
                f"{service} asks to be left alone for {failure.after:,.0f} seconds: {failure}."
            ) from failure
        raise ModelError(f"{service} went on failing, {len(PAUSES) + 1} times: {failure}.") from failure


def _compute_pause(state: tenacity.RetryCallState) -> float:
    """The server's Retry-After; otherwise the next pause, with jitter, so that parallel runs do not retry together."""
    failure = state.outcome.exception() if state.outcome else None
    if isinstance(failure, TransientError) and failure.after is not None:
        return failure.after
    # Also called after the last attempt, which is followed by no pause.
    pauses = (*PAUSES, 0.0)
    return pauses[state.attempt_number - 1] * random.uniform(1.0, 1.25)
