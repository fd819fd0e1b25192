import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.http_client import limits
from tiltmeter.http_client.limits import ReplyLimits, ReplyMeter, TooLargeError, TooSlowError


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A list whose only entry is the current time."""
    now = [0.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now[0])
    return now


def test_size() -> None:
    meter = ReplyMeter(ReplyLimits(10, 1, 5.0), received=4)
    meter.check_announced_size(None)
    meter.check_announced_size(10)
    with raises_mentioning(TooLargeError, "10 bytes"):
        meter.check_announced_size(11)
    meter.add_block(b"x" * 6)
    with pytest.raises(TooLargeError):
        meter.add_block(b"x")


def test_speed_is_measured_in_windows(clock: list[float]) -> None:
    meter = ReplyMeter(ReplyLimits(1 << 20, 100, 5.0))
    meter.add_block(b"x" * 9000)
    for clock[0], size in ((1.0, 1), (6.0, 700), (11.0, 1), (12.0, 600)):
        meter.add_block(b"x" * size)
    clock[0] = 18.0
    with raises_mentioning(TooSlowError, "100 bytes"):
        meter.add_block(b"x" * 500)


def test_blanks_before_a_reply_may_come_slowly(clock: list[float]) -> None:
    meter = ReplyMeter(ReplyLimits(1 << 20, 100, 5.0))
    for clock[0] in (0.0, 20.0, 40.0):
        meter.add_block(b" ")
    meter.add_block(b"{")
    clock[0] = 44.0
    meter.add_block(b"}")
