"""Trying again after a failure that may pass: throttling, a server's own errors, a broken connection."""

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from tiltmeter.errors import ModelError

Given = TypeVar("Given")

PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds to wait before each new try, where the server does not say how long."""
LONGEST = 120.0
"""Seconds; a server that wants us to wait longer is left for another time."""

_TOO_EARLY, _TOO_MANY = 408, 429


class TransientError(Exception):
    """A request failed, but may not fail again. `after` is how many seconds the server asks to wait, if it says."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


def is_transient(status: int) -> bool:
    """Whether a request that was answered with this HTTP status should be tried again."""
    return status in (_TOO_EARLY, _TOO_MANY) or status >= 500


def parse_retry_after(header: str | None) -> float | None:
    """The seconds in a Retry-After header, which holds a number or a date.

    >>> parse_retry_after("7"), parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), parse_retry_after(None), parse_retry_after("soon")
    (7.0, 0.0, None, None)
    """
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # no date, or one without a time zone
        return None


def with_retries(send: Callable[[], Given], service: str) -> Given:
    """What `send` gives, tried again as long as it raises TransientError and there are pauses left."""
    for pause in (*PAUSES, None):
        try:
            return send()
        except TransientError as failure:
            if pause is None:
                raise ModelError(f"{service} went on failing, {len(PAUSES) + 1} times: {failure}.") from failure
            # Runs that were throttled together should not all come back together.
            wait = failure.after if failure.after is not None else pause * random.uniform(1.0, 1.25)
            if wait > LONGEST:
                raise ModelError(f"{service} asks to be left alone for {wait:,.0f} seconds: {failure}.") from failure
            time.sleep(wait)
    raise AssertionError("The last try gives or raises.")
