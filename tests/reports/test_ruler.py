from hypothesis import given
from hypothesis import strategies as st

from tests.runs.made import pair_scores, run
from tiltmeter.measures import get_measure
from tiltmeter.reports.ruler import ASCII, draw_ruler, format_heading
from tiltmeter.reports.ruler_svg import WIDTH, build_ruler


@given(st.lists(st.floats(0, 100), min_size=3, max_size=3), st.sampled_from([15, 21]))
def test_a_ruler_is_as_wide_as_asked_and_has_one_value(numbers: list[float], width: int) -> None:
    low, value, high = sorted(numbers)
    drawn = draw_ruler(value, low, high, scale=(30, 70), width=width, marks=ASCII)
    assert len(drawn) == width
    assert sum(drawn.count(mark) for mark in "o<>") == 1
    assert len(format_heading((30, 70), width)) == width


def test_without_an_interval_there_is_only_the_value() -> None:
    assert draw_ruler(40, None, None, scale=(30, 70), width=21, marks=ASCII) == "     o    :          "


def test_off_the_scale() -> None:
    assert draw_ruler(20, 10, 40, scale=(30, 70), width=21, marks=ASCII) == "<----]    :          "
    assert draw_ruler(90, 60, 95, scale=(30, 70), width=21, marks=ASCII) == "          :    [---->"
    assert draw_ruler(50, 0, 100, scale=(30, 70), width=21, marks=ASCII) == "----------o----------"


def test_stereotypes_are_on_the_right_also_of_a_measure_that_falls_with_them() -> None:
    records = run(pair_scores(lean=5.0), family="pairs").records
    for name in ("CPS", "S_JSD x 1e3"):
        record = next(one for one in records if one.measure == name and one.view == "all")
        assert get_measure(name).side(record.value) == "towards"
        drawn = build_ruler(record, get_measure(name).span([record.value]), "towards")
        assert drawn.value > WIDTH / 2
        assert drawn.low <= drawn.value <= drawn.high
