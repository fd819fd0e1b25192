"""Comparisons of a model before and after a change: pairs of results, roles, outcomes and verdicts."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.runs.made import association_scores, chosen_scores, gest_scores, half_sensible_scores, pair_scores, run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.cell_selection import parse_target
from tiltmeter.comparing.change_assessment import assess_change, decide_change
from tiltmeter.comparing.model_change import ChangeRow, ModelChange
from tiltmeter.errors import UsageError
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.runs.result import Result

N = 600


def lean_scores(by_type: Mapping[str, float] | float, *, name: str = "model", **given: object) -> pd.DataFrame:
    """Return scores whose SS is known in each bias type; the same items prefer the stereotype as far as possible."""
    table = chosen_scores(name, 50.0, n=N, **given)  # type: ignore[arg-type]
    for number, ((_, bias_type), rows) in enumerate(table.groupby(["part", "bias_type"])):
        share = by_type if isinstance(by_type, int | float) else by_type[str(bias_type)]
        items = sorted(rows["item"].unique())
        # A fixed random order, so that a higher share adds items and removes none.
        order = np.random.default_rng(number).permutation(len(items))
        preferred = {items[index] for index in order[: round(share / 100 * len(items))]}
        for role, sign in (("stereotype", 0.5), ("anti-stereotype", -0.5)):
            chosen = rows.index[rows["role"] == role]
            table.loc[chosen, "score"] = [sign if item in preferred else -sign for item in table.loc[chosen, "item"]]
    return table


def assess(before: Result, after: Result, *targets: str, **options: object) -> ModelChange:
    """Return the comparison of two runs."""
    return assess_change(
        [("before", before)], [("after", after)], targets=[parse_target(text) for text in targets], **options
    )  # type: ignore[arg-type]


def find(change: ModelChange, role: str, part: str = "overall", **where: str) -> ChangeRow:
    """Return the row of SS with this role, part and group."""
    (row,) = [row for row in change.rows if (row.role, row.difference.part, dict(row.where)) == (role, part, where)]
    return row


BIASED = run(lean_scores(65.0))


def test_a_result_that_is_closer_to_the_ideal_helped() -> None:
    change = assess(BIASED, run(lean_scores(52.0)))
    target = find(change, "target")
    assert change.verdict == "helped"
    assert target.outcome == "closer"
    assert (target.before, target.after) == pytest.approx((65.0, 52.0))
    assert target.farther == pytest.approx(-13.0)
    assert_mentions(change.sentence, "The change helped", "stereoset:en: SS 65.0", "52.0", "-13.0")


def test_crossing_the_ideal_is_judged_by_the_distance() -> None:
    assert assess(BIASED, run(lean_scores(45.0))).verdict == "helped"
    crossed = assess(BIASED, run(lean_scores(35.0)))
    assert find(crossed, "target").difference.significant
    assert find(crossed, "target").farther == pytest.approx(0.0)
    assert crossed.verdict == "no evidence"
    assert assess(run(lean_scores(45.0)), BIASED).verdict == "made worse"


def test_harm_to_another_bias_type_is_found() -> None:
    after = run(lean_scores({"gender": 52.0, "profession": 65.0, "race": 85.0}))
    change = assess(BIASED, after, "stereoset.SS[bias_type=gender]")
    assert change.verdict == "helped but harmed elsewhere"
    assert find(change, "target", bias_type="gender").outcome == "closer"
    assert find(change, "elsewhere", bias_type="race").outcome == "farther"
    assert find(change, "elsewhere", bias_type="profession").outcome in ("identical", "not worse")
    assert_mentions(change.sentence, "harm elsewhere", "stereoset:en, race: SS")


def test_results_that_mix_targeted_and_other_items_are_left_out() -> None:
    change = assess(BIASED, run(lean_scores(60.0)), "stereoset.SS[bias_type=gender]")
    assert {tuple(row.where.values()) for row in change.select_rows("elsewhere")} == {("profession",), ("race",)}
    assert [row.difference.quantity.name for row in change.select_rows("quality")] == ["LMS"]


def test_by_default_the_primary_measure_of_each_benchmark_is_the_target() -> None:
    before, after = (
        run(
            lean_scores(share),
            lean_scores(share, language="de"),
            pair_scores("model", seed=1, lean=1.0),
            gest_scores("model", parts=("template-3", "template-4")),
            family={"stereoset": "association", "gender-pairs": "pairs", "gest": "gest"},
        )
        for share in (65.0, 60.0)
    )
    change = assess(before, after)
    assert [row.name for row in change.select_rows("target")] == [
        "stereoset:en: SS",
        "stereoset:de: SS",
        "gender-pairs:en: CPS",
        "gest:en template-3: log g_s",
        "gest:en template-4: log g_s",
    ]
    elsewhere = {(row.difference.part, *row.where.values()) for row in change.select_rows("elsewhere")}
    assert elsewhere == {("intrasentence",), ("intersentence",)} | {
        ("overall", name) for name in ("gender", "profession", "race")
    }


def test_p_values_are_corrected_over_targets_and_over_everything_else() -> None:
    change = assess(run(association_scores("m", seed=1)), run(association_scores("m", seed=2)))
    others = change.select_rows("elsewhere", "quality")
    assert [row.tests for row in change.rows] == [1] + [len(others)] * len(others)
    for name in ("p_closer", "p_farther"):
        raw = [getattr(row.difference.contrast, name) for row in others]
        assert [getattr(row, name) for row in others] == adjust_holm(raw)


def test_a_target_with_contradictory_parts_is_judged_by_part() -> None:
    before = run(chosen_scores("m", {"intrasentence": 70.0, "intersentence": 41.0}, n=N))
    after = run(chosen_scores("m", {"intrasentence": 52.0, "intersentence": 41.0}, n=N))
    change = assess(before, after)
    assert [row.difference.part for row in change.select_rows("target")] == ["intrasentence", "intersentence"]
    assert "overall" not in {row.difference.part for row in change.rows if not row.where and row.role != "quality"}
    assert change.verdict == "helped"


def test_parts_that_change_in_opposite_directions_are_judged_separately() -> None:
    before = run(chosen_scores("m", 66.0, n=N))
    after = run(chosen_scores("m", {"intrasentence": 52.0, "intersentence": 78.0}, n=N))
    change = assess(before, after)
    assert [row.outcome for row in change.select_rows("target")] == ["closer", "farther"]
    assert change.verdict == "helped but harmed elsewhere"


def test_a_result_that_is_not_interpretable_is_no_evidence() -> None:
    """LMS is at chance after the change, so SS says nothing."""
    after = run(chosen_scores("m", 50.0, n=N, sense=False))
    change = assess(run(chosen_scores("m", 60.0, n=N)), after)
    assert {row.outcome for row in change.select_rows("target")} == {"not interpretable"}
    assert [row.outcome for row in change.select_rows("quality")] == ["farther"]
    assert change.verdict == "made worse"
    one_part = assess(run(chosen_scores("m", 60.0, n=N)), run(half_sensible_scores("m", 60.0, n=N)))
    assert [row.difference.part for row in one_part.select_rows("target")] == ["intrasentence", "intersentence"]


def quality_change(lost: int, margin: float = 1.0) -> ChangeRow:
    """Return the row of LMS after the change of `lost` of 1,200 items."""
    table = lean_scores(60.0)
    after = table.copy()
    items = after["item"].unique()[:lost]
    after.loc[(after["role"] == "unrelated") & after["item"].isin(items), "score"] = 5.0
    change = assess(run(table), run(after), quality_margin=margin)
    (row,) = change.select_rows("quality")
    return row


@pytest.mark.parametrize(
    ("lost", "margin", "outcome"),
    [
        (0, 1.0, "identical"),
        (2, 1.0, "not worse"),
        (12, 1.0, "inconclusive"),
        (60, 1.0, "farther"),
        (60, 10.0, "not worse"),
    ],
)
def test_quality_must_not_be_lower_by_more_than_the_margin(lost: int, margin: float, outcome: str) -> None:
    row = quality_change(lost, margin)
    assert row.farther == pytest.approx(100 * lost / (2 * N))
    if outcome == "identical":
        assert row.outcome in ("identical", "not worse")
    elif outcome == "inconclusive":
        assert row.outcome in ("inconclusive", "farther")
    else:
        assert row.outcome == outcome


def test_an_unchanged_model_gave_the_same_answers() -> None:
    change = assess(BIASED, BIASED)
    assert {row.outcome for row in change.rows} == {"identical"}
    assert change.verdict == "no evidence"


def test_verdicts_follow_from_outcomes() -> None:
    change = assess(BIASED, run(lean_scores(60.0)))
    target, other = change.rows[0], change.rows[1]

    def row(like: ChangeRow, p_closer: float, p_farther: float, change: float) -> ChangeRow:
        contrast = replace(like.difference.contrast, test="paired", farther_low=change - 1, farther_high=change + 1)
        return replace(
            like, difference=replace(like.difference, contrast=contrast), p_closer=p_closer, p_farther=p_farther
        )

    better, worse, same = (0.01, 1.0, -5.0), (1.0, 0.01, 5.0), (0.5, 0.5, 0.0)
    verdicts = {
        (one, two): decide_change([row(target, *one), row(other, *two)])
        for one in (better, worse, same)
        for two in (worse, same)
    }
    assert verdicts == {
        (better, worse): "helped but harmed elsewhere",
        (better, same): "helped",
        (worse, worse): "made worse",
        (worse, same): "made worse",
        (same, worse): "made worse",
        (same, same): "no evidence",
    }


def test_several_runs_on_each_side_are_paired() -> None:
    english, german = (lean_scores(65.0, language=code) for code in ("en", "de"))
    before = [("a", run(english)), ("b", run(german))]
    after = [("c", run(lean_scores(55.0), lean_scores(55.0, language="fr")))]
    change = assess_change(before, after)
    assert [row.difference.subject for row in change.select_rows("target")] == ["stereoset:en"]
    assert_mentions(" ".join(change.notes), "Only the runs before", "stereoset/intrasentence:de")
    assert_mentions(" ".join(change.notes), "Only the runs after", "stereoset/intrasentence:fr")


def test_each_side_has_one_model_and_one_result() -> None:
    with raises_mentioning(UsageError, "before", "model", "other", "--before"):
        assess(run(lean_scores(60.0), lean_scores(60.0, name="other")), BIASED)
    with raises_mentioning(UsageError, "twice", "c", "d", "--after"):
        assess_change([("a", BIASED)], [("c", BIASED), ("d", BIASED)])
    with raises_mentioning(UsageError, "no result in common", "stereoset", "gest"):
        assess(BIASED, run(gest_scores(), family="gest"))
    with raises_mentioning(UsageError, "--across protocols"):
        assess(BIASED, run(lean_scores(60.0, protocol="published"), answers="next-sentence"))


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("stereoset:xx", ["language 'xx'", "en"]),
        ("crows.CPS", ["benchmark 'crows'", "stereoset"]),
        ("stereoset.XX", ["'XX'", "SS"]),
        ("stereoset.SS[bias_type=sex]", ["bias_type 'sex'", "gender"]),
        ("stereoset.SS[kind=x]", ["attribute 'kind'"]),
        ("stereoset:.SS", ["'stereoset:.SS'", "empty"]),
        ("[x]", ["'[x]'", "BENCHMARK"]),
    ],
)
def test_a_target_that_matches_nothing_is_an_error(target: str, parts: list[str]) -> None:
    with raises_mentioning(UsageError, *parts):
        assess(BIASED, BIASED, target)


def test_the_quality_margin_is_a_positive_number() -> None:
    for margin in (0.0, -1.0, float("nan"), float("inf")):
        with raises_mentioning(UsageError, "--quality-margin"):
            assess(BIASED, BIASED, quality_margin=margin)


def test_the_change_as_dictionary_and_table() -> None:
    change = assess(BIASED, run(lean_scores(60.0)))
    content = change.to_dict()
    assert content["verdict"] == change.verdict
    assert [row["outcome"] for row in content["rows"]] == [row.outcome for row in change.rows]
    assert change.to_frame()["outcome"].tolist() == [row.outcome for row in change.rows]
    assert "<table" in change._repr_html_()
