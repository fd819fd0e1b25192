import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_ind

from tests.reports.made import record
from tiltmeter.measures import get_measure
from tiltmeter.measures.controls import build_control_contrast, list_control_contrasts
from tiltmeter.measures.estimates import Mean
from tiltmeter.measures.records import Record, RecordKey, build_estimate_record
from tiltmeter.measures.verdict_rule import assign_verdicts


def pair(value: float, control: float, half: float = 2.0, measure: str = "CPS") -> tuple[Record, Record]:
    records = [
        record(measure, number, half, benchmark=name, part="all")
        for name, number in (("pairs", value), ("pairs-control", control))
    ]
    first, second = assign_verdicts(records)
    return first, second


def test_the_interval_is_that_of_welch() -> None:
    generator = np.random.default_rng(7)
    here, there = generator.normal(3.0, 10.0, 80), generator.normal(1.0, 4.0, 30)
    s_jsd = get_measure("mean difference per token")  # above 0 is towards stereotypes
    records = [
        build_estimate_record(
            RecordKey("gpt2", name, "all", "en", "published"),
            "all",
            "all",
            "all",
            s_jsd,
            replace(Mean.from_values(values), skewness=0.0),
            len(values),
        )
        for name, values in (("pairs", here), ("pairs-control", there))
    ]
    contrast = build_control_contrast(*records)
    expected = ttest_ind(here, there, equal_var=False).confidence_interval(0.95)
    assert contrast.excess == pytest.approx(here.mean() - there.mean())
    assert contrast.interval == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(
    ("value", "control", "outcome", "moves"),
    [
        (60.0, 50.5, "more", False),
        (60.0, 59.0, "not more", True),
        (60.0, 58.0, "not more", True),
        (40.0, 49.0, "more", False),  # against stereotypes: farther below
        (40.0, 41.0, "not more", True),
        (60.0, 40.0, "more", False),  # the control moves the other way
        (50.5, 60.0, "no bias to explain", False),
    ],
)
def test_whether_a_bias_is_more_than_that_of_its_control(
    value: float, control: float, outcome: str, moves: bool
) -> None:
    contrast = build_control_contrast(*pair(value, control))
    assert (contrast.outcome, contrast.has_biased_control) == (outcome, moves)


def test_below_the_ideal_can_be_the_side_of_stereotypes() -> None:
    contrast = build_control_contrast(*pair(-10.0, -4.0, 1.0, "S_JSD x 1e3"))
    assert contrast.excess == pytest.approx(6.0)
    assert contrast.outcome == "more"


def test_ratios_are_compared_on_the_log_scale() -> None:
    contrast = build_control_contrast(*pair(4.0, 2.0, 0.1, "g_s"))
    assert contrast.excess == pytest.approx(2.0)
    reach = math.sqrt(2) * 0.1
    assert contrast.interval == pytest.approx((2 * math.exp(-reach), 2 * math.exp(reach)), rel=1e-3)


def test_a_record_without_an_interval_shows_nothing() -> None:
    first, second = pair(60.0, 50.0)
    contrast = build_control_contrast(first, replace(second, low=None, high=None, standard_error=None))
    assert contrast.interval is None
    assert contrast.outcome == "not more"


def test_only_the_same_row_of_the_control_is_compared() -> None:
    first, second = pair(60.0, 50.0)
    others = [replace(second, language="de"), replace(second, model="bert"), replace(second, protocol="aul")]
    controls = {"pairs": ("pairs-control",)}
    assert [c.control for c in list_control_contrasts([first, *others, second], controls)] == [second]
    assert not list(list_control_contrasts([first, *others], controls))
    assert not list(list_control_contrasts([first, second], {}))


def test_a_control_of_one_bias_type_is_compared_with_that_bias_type() -> None:
    wide = [("all", "all"), ("bias_type", "age"), ("bias_type", "gender")]
    records = [
        replace(record("CPS", value, 2.0, benchmark=name, part="all"), view=view, group=group)
        for name, views, value in (("pairs", wide, 60.0), ("pairs-control", [wide[0], wide[2]], 50.0))
        for view, group in views
    ]
    controls = {"pairs": ["pairs-control"]}
    (contrast,) = list_control_contrasts(assign_verdicts(records), controls)
    assert (contrast.record.group, contrast.control.group) == ("gender", "gender")
    # With the same bias types on both sides, the totals are compared as well.
    alike = [r for r in records if r.group != "age"]
    assert [c.record.view for c in list_control_contrasts(assign_verdicts(alike), controls)] == ["all", "bias_type"]
