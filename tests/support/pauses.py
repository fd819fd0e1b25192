"""Record the pauses before retries instead of waiting."""

import pytest

from tiltmeter.http_client import retries


def record_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list to which each pause in seconds is added."""
    pauses: list[float] = []

    async def pause_async(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(retries, "wait_before_retry", pauses.append)
    monkeypatch.setattr(retries, "wait_before_retry_async", pause_async)
    return pauses
