from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.support.messages import raises_mentioning
from tests.support.pauses import record_pauses
from tiltmeter.errors import ModelError
from tiltmeter.http_client.retries import Retries, TransientError, call_with_retries, is_transient, parse_retry_after


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The recorded pauses before retries."""
    return record_pauses(monkeypatch)


def failing(*failures: Exception):
    remaining = list(failures)

    def send() -> str:
        if remaining:
            raise remaining.pop(0)
        return "done"

    return send


def test_pauses_grow(pauses: list[float]) -> None:
    assert call_with_retries(failing(*[TransientError("busy")] * 4), "It") == "done"
    assert len(pauses) == 4
    for pause, least in zip(pauses, (1, 2, 4, 8), strict=True):
        assert least <= pause <= 1.25 * least


def test_retry_after_replaces_the_pause(pauses: list[float]) -> None:
    assert call_with_retries(failing(TransientError("busy", 7.0), TransientError("busy", 0.0)), "It") == "done"
    assert pauses == [7.0, 0.0]


def test_retries_are_limited(pauses: list[float]) -> None:
    with raises_mentioning(ModelError, "It failed 6 times", "busy."):
        call_with_retries(failing(*[TransientError("busy")] * 9), "It")
    assert len(pauses) == 5
    with raises_mentioning(ModelError, "It ", "3,600 seconds", "busy."):
        call_with_retries(failing(TransientError("busy", 3600.0)), "It")


def test_progress_restarts_the_count(pauses: list[float]) -> None:
    retries, attempts = Retries((1.0, 2.0)), iter(range(7))

    def send() -> str:
        if next(attempts) == 2:
            retries.reset_failures()
        raise TransientError("busy")

    with pytest.raises(TransientError):
        retries.call_with_retries(send)
    assert [int(pause) for pause in pauses] == [1, 2, 1, 2]


def test_other_errors_are_not_retried(pauses: list[float]) -> None:
    with raises_mentioning(ModelError, "quota"):
        call_with_retries(failing(ModelError("The quota is used up.")), "It")
    assert not pauses


def test_retry_after_may_be_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert parse_retry_after(soon) == pytest.approx(30, abs=2)


def test_transient_statuses() -> None:
    assert [status for status in (200, 400, 403, 404, 408, 429, 456, 500, 503) if is_transient(status)] == [
        408,
        429,
        500,
        503,
    ]
