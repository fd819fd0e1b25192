from tiltmeter.progress.pace import Pace
from tiltmeter.progress.progress import Progress


def reported(*reports: tuple[float, int, int | None]) -> Pace:
    """Return the pace of a step that begins at time 0, after reports of (time, units done, total)."""
    now = 0.0
    pace = Pace(clock=lambda: now)
    for now, done, total in reports:  # noqa: B007 - the clock reads it
        pace.update(Progress(done, total))
    return pace


def test_speed_is_measured_after_loading() -> None:
    pace = reported((1.0, 10, 100), (50.0, 20, 100), (60.0, 40, 100))
    assert (pace.stored, pace.loaded, pace.at_load) == (10, 50.0, 20)
    assert pace.rate == 2.0
    assert pace.estimate_remaining() == 30.0
    assert pace.estimate_remaining(now=70.0) == 60.0
    assert pace.find_speed_start() == (50.0, 20)


def test_a_step_of_one_report_includes_loading() -> None:
    pace = reported((1.0, 10, 100), (50.0, 100, 100))
    assert pace.rate is pace.estimate_remaining() is None
    assert pace.find_speed_start() == (0.0, 10)


def test_no_speed_for_stored_units_and_no_remaining_time_for_unknown_totals() -> None:
    assert reported((1.0, 100, 100)).find_speed_start() is None
    assert reported((1.0, 0, None), (2.0, 1, None), (4.0, 5, None)).estimate_remaining() is None
