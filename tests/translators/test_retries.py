from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tiltmeter.errors import ModelError
from tiltmeter.translators.retries import TransientError, call_with_retries, is_transient, parse_retry_after


def failing(*failures: Exception):
    left = list(failures)

    def send() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return send


def test_pauses_grow(slept: list[float]) -> None:
    assert call_with_retries(failing(*[TransientError("busy")] * 4), "It") == "done"
    assert len(slept) == 4
    for pause, least in zip(slept, (1, 2, 4, 8), strict=True):
        assert least <= pause <= 1.25 * least


def test_what_the_server_asks_for_is_heeded(slept: list[float]) -> None:
    assert call_with_retries(failing(TransientError("busy", 7.0), TransientError("busy", 0.0)), "It") == "done"
    assert slept == [7.0, 0.0]


def test_patience_ends(slept: list[float]) -> None:
    with pytest.raises(ModelError, match=r"^It went on failing, 6 times: busy\.$"):
        call_with_retries(failing(*[TransientError("busy")] * 9), "It")
    assert len(slept) == 5
    with pytest.raises(ModelError, match=r"^It asks to be left alone for 3,600 seconds: busy\.$"):
        call_with_retries(failing(TransientError("busy", 3600.0)), "It")


def test_other_errors_are_not_tried_again(slept: list[float]) -> None:
    with pytest.raises(ModelError, match="quota"):
        call_with_retries(failing(ModelError("The quota is used up.")), "It")
    assert not slept


def test_retry_after_may_be_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert parse_retry_after(soon) == pytest.approx(30, abs=2)


def test_what_may_pass() -> None:
    assert [status for status in (200, 400, 403, 404, 408, 429, 456, 500, 503) if is_transient(status)] == [
        408,
        429,
        500,
        503,
    ]
