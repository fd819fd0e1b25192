import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from tests.runs.made import association_scores, chosen_scores, gest_scores, pair_scores, run
from tiltmeter.comparing import Rule, RuleVerdict, check, parse_rule
from tiltmeter.errors import UsageError
from tiltmeter.measures.records import Record
from tiltmeter.reports.check_results import (
    list_notes,
    print_rule_plan,
    print_verdicts,
    render_markdown,
    summarize_verdicts,
    to_dict,
)
from tiltmeter.runs.result import Result

RUN = run(association_scores("made/one", seed=1, lean=0.4, n=200))


def of(value: float, low: float | None, high: float | None, measure: str = "SS", ideal: float | None = 50.0) -> Result:
    record = Record(
        model="m",
        benchmark="stereoset",
        part="overall",
        language="en",
        view="all",
        group="all",
        measure=measure,
        value=value,
        low=low,
        high=high,
        n=100,
        ideal=ideal,
        protocol="published",
    )
    return Result(scores=RUN.scores, records=[record], manifest=RUN.manifest)


def rule(kind: str, text: str) -> Rule:
    return parse_rule(kind, text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "text", "outcome", "judged"),
    [
        ("max", "stereoset.SS 60", "holds", 59.0),
        ("max", "stereoset.SS 59", "holds", 59.0),
        ("max", "stereoset.SS 58", "not shown", 59.0),
        ("max", "stereoset.SS 54", "broken", 59.0),
        ("min", "stereoset.SS 55", "holds", 55.0),
        ("min", "stereoset.SS 56", "not shown", 55.0),
        ("min", "stereoset.SS 59.5", "broken", 55.0),
        ("max", "stereoset.SS distance 9", "holds", 9.0),
        ("max", "stereoset.SS distance 8", "not shown", 9.0),
        ("max", "stereoset.SS distance 4", "broken", 9.0),
    ],
)
def test_rules_are_judged_on_the_end_that_could_break_them(kind: str, text: str, outcome: str, judged: float) -> None:
    (verdict,) = check(of(57.0, 55.0, 59.0), [rule(kind, text)])
    assert (verdict.outcome, verdict.judged, verdict.passed) == (outcome, judged, outcome == "holds")
    (verdict,) = check(of(57.0, 55.0, 59.0), [rule(kind, text)], lenient=True)
    assert (verdict.outcome, verdict.passed) == (outcome, outcome != "broken")


def test_a_distance_where_the_ideal_is_inside() -> None:
    (verdict,) = check(of(49.0, 46.0, 52.0), [rule("max", "stereoset.SS distance 4")])
    assert (verdict.value, verdict.low, verdict.high, verdict.outcome) == (1.0, 0.0, 4.0, "holds")


def test_without_an_interval_the_value_is_judged() -> None:
    (verdict,) = check(of(3.0, None, None, "ties", None), [rule("max", "stereoset.ties 3")])
    assert (verdict.end, verdict.judged, verdict.passed) == ("value", 3.0, True)


def test_both_parts_pooled_unless_one_is_named() -> None:
    assert [v.location for v in check(RUN, [rule("max", "stereoset.SS 99")])] == ["stereoset/overall:en"]
    assert [v.location for v in check(RUN, [rule("max", "stereoset/intrasentence.SS 99")])] == [
        "stereoset/intrasentence:en"
    ]
    assert len(check(RUN, [rule("max", "stereoset/*.SS 99")])) == 3


def test_groups_and_measures_with_a_view_of_their_own() -> None:
    verdicts = check(RUN, [rule("max", "stereoset.SS[bias_type=*] 99")])
    assert [verdict.quantity for verdict in verdicts] == [
        f"SS, bias_type {name}" for name in ("gender", "profession", "race")
    ]
    (macro,) = check(RUN, [rule("min", "stereoset.ICAT macro 1")])
    assert macro.quantity == "ICAT macro, targets all"
    (macro,) = check(RUN, [rule("min", "stereoset.ICAT macro[bias_types=all] 1")])
    assert macro.quantity == "ICAT macro, bias_types all"


def test_no_worse_than_a_baseline() -> None:
    worse = run(association_scores("made/new", seed=1, lean=1.6, n=200))
    (verdict,) = check(worse, [rule("no-worse-than", "2")], baseline=RUN)
    assert (verdict.outcome, verdict.passed) == ("broken", False)
    (verdict,) = check(RUN, [rule("no-worse-than", "2")], baseline=worse)
    assert verdict.passed
    assert verdict.value < 0


@pytest.mark.parametrize("n", [3, 20, 200])
@pytest.mark.parametrize("margin", ["0", "2"])
def test_a_run_is_no_worse_than_itself_however_few_items_it_has(n: int, margin: str) -> None:
    result = run(association_scores("made/new", seed=1, n=n, lean=0.7))
    rounded = result.scores.assign(score=result.scores["score"] * (1 + 1e-6))
    for other in (result, run(rounded)):
        (verdict,) = check(result, [rule("no-worse-than", margin)], baseline=other)
        assert (verdict.outcome, verdict.passed, verdict.value, verdict.even) == ("holds", True, 0.0, 1.0)
        assert verdict.note == "the two gave the same answers"
    changed = result.scores.assign(score=result.scores["score"] + (result.scores["item"] == "intra-001"))
    (verdict,) = check(result, [rule("no-worse-than", margin)], baseline=run(changed))
    assert "the same answers" not in verdict.note


def test_a_baseline_by_measure_and_group() -> None:
    other = run(association_scores("made/new", seed=5, n=200))
    verdicts = check(other, [rule("no-worse-than", "stereoset/intrasentence.LMS[bias_type=*] 30")], baseline=RUN)
    assert len(verdicts) == 3
    assert all(verdict.passed for verdict in verdicts)


def test_log_ratios_have_to_be_named() -> None:
    ours, theirs = (run(gest_scores(seed=seed), family="gest") for seed in (1, 2))
    assert len(check(ours, [rule("no-worse-than", "gest.log g_s 2")], baseline=theirs)) == 1
    with pytest.raises(UsageError, match="applies to percentages of preferences"):
        check(ours, [rule("no-worse-than", "2")], baseline=theirs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sterioset.SS 5", r"no benchmark 'sterioset' there \(did you mean stereoset\?\)"),
        ("stereoset.SSS 5", r"no measure 'SSS' there \(did you mean SS\?\)"),
        ("stereoset:xx.SS 5", "no language 'xx' there; it has en"),
        ("stereoset/intra.SS 5", "no part 'intra' there"),
        ("stereoset.SS[bias=gender] 5", "no view 'bias' there"),
        ("stereoset.SS[bias_type=gendre] 5", r"no group 'gendre' there \(did you mean gender\?\)"),
        ("stereoset/overall.ties distance 5", "ties has no ideal value"),
    ],
)
def test_rules_that_match_nothing(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check(RUN, [rule("max", text)])


@pytest.mark.parametrize(
    ("text", "baseline", "message"),
    [
        ("2", None, "needs a run to compare with; name one with --baseline"),
        ("2", run(pair_scores(), family="pairs"), "baseline has no scores on stereoset/overall:en"),
        ("2", run(association_scores(first=900)), "share no items of stereoset/overall:en"),
        ("2", run(association_scores(protocol="in-context")), r"in-context.*add --across protocols"),
        ("2", run(association_scores("b"), association_scores("c")), "not clear which of b, c"),
        ("stereoset.SSS 2", RUN, r"cannot be compared in 'SSS' \(did you mean SS\?\)"),
        ("sterioset.SS 2", RUN, r"did you mean stereoset\?"),
        ("stereoset.SS[bias=x] 2", RUN, r"items have no 'bias'"),
        ("stereoset.SS[bias_type=x] 2", RUN, "no item has the bias_type 'x'"),
    ],
)
def test_baselines_that_do_not_fit(text: str, baseline: Result | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check(RUN, [rule("no-worse-than", text)], baseline=baseline)


def test_no_rules() -> None:
    with pytest.raises(UsageError, match="There are no rules"):
        check(RUN, [])


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_what_is_printed(lenient: bool, encoding: str) -> None:
    verdicts = check(of(57, 55, 59), [rule("max", "stereoset.SS 58"), rule("min", "stereoset.SS 50")], lenient=lenient)
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=80, record=True)
    print_verdicts(verdicts, console, lenient=lenient)
    file.flush()
    text = console.export_text(styles=False)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert ("Lenient: a rule fails only" if lenient else "Strict: a rule passes only") in text
    assert ("55.00 (lower)" if lenient else "59.00 (upper)") in text
    assert to_dict(verdicts[0])["end"] == ("lower" if lenient else "upper")


def test_a_narrow_terminal_has_subjects_unbroken() -> None:
    verdicts = check(of(57, 55, 59), [rule("max", "stereoset.SS 58")])
    console = Console(file=io.StringIO(), width=60, record=True)
    print_verdicts(verdicts, console, lenient=False)
    lines = [line.rstrip() for line in console.export_text(styles=False).splitlines()]
    assert all(len(line) <= 60 for line in lines)
    subject = lines.index("m on stereoset/overall:en: SS")
    assert lines[subject + 1].startswith("  not shown: value 57.00, judged 59.00 (upper), limit ≤ 58")


def test_the_summary_says_why() -> None:
    verdicts = check(of(57, 55, 59), [rule("max", "stereoset.SS 58")])
    assert summarize_verdicts(verdicts).startswith("Failed: 1 of 1 checks. For 1 the interval contains the limit")
    assert summarize_verdicts(check(of(57, 55, 59), [rule("max", "stereoset.SS 58")], lenient=True)) == (
        "Passed: 1 of 1 checks, 1 of them with too few items to be sure."
    )


def test_markdown_stays_a_table() -> None:
    result = run(association_scores("<b>a|b</b>\n`x`"))
    text = render_markdown(check(result, [rule("max", "stereoset.SS 99")]), lenient=False)
    rows = [line for line in text.splitlines() if line.startswith("| :")]
    assert len(rows) == 1
    assert "<b>" not in text
    assert rows[0].replace("\\|", "").count("|") == 8
    assert ":white_check_mark: holds" in text


TORN = chosen_scores(ss={"intrasentence": 60.0, "intersentence": 40.0}, n=600)


@pytest.mark.parametrize("lenient", [True, False])
def test_parts_that_contradict_each_other_are_judged_each_by_itself(lenient: bool) -> None:
    pooled = run(chosen_scores(ss=50.0, n=1000))
    within_5 = rule("max", "stereoset.SS distance 5")
    assert [verdict.passed for verdict in check(pooled, [within_5], lenient=lenient)] == [True]
    verdicts = check(run(TORN), [within_5], lenient=lenient)
    assert [verdict.location for verdict in verdicts] == ["stereoset/intrasentence:en", "stereoset/intersentence:en"]
    assert [verdict.outcome for verdict in verdicts] == ["broken", "broken"]
    assert {verdict.note for verdict in verdicts} == {"judged by itself, since the parts contradict each other"}


def test_what_was_pooled_can_be_asked_for_and_says_that_its_parts_contradict_each_other() -> None:
    (verdict,) = check(run(TORN), [rule("max", "stereoset/overall.SS distance 5")])
    assert verdict.note == "contradictory (intrasentence towards stereotypes, intersentence against)"


def test_only_the_group_that_contradicts_itself_is_taken_apart() -> None:
    scores = chosen_scores(ss=50.0, n=1200)
    gender = scores["bias_type"] == "gender"
    part = scores["part"].map({"intrasentence": 3.0, "intersentence": -3.0})
    scores.loc[gender & (scores["role"] == "stereotype"), "score"] += part
    scores.loc[(scores["bias_type"] == "race") & (scores["role"] == "stereotype"), "score"] -= part
    contradictory = run(scores)
    assert [v.location for v in check(contradictory, [rule("max", "stereoset.SS 99")])] == ["stereoset/overall:en"]
    assert len(check(contradictory, [rule("max", "stereoset.SS[bias_type=gender] 99")])) == 2
    assert len(check(contradictory, [rule("max", "stereoset.SS[bias_type=profession] 99")])) == 1
    assert len(check(contradictory, [rule("no-worse-than", "stereoset.SS 99")], baseline=contradictory)) == 1
    assert (
        len(check(contradictory, [rule("no-worse-than", "stereoset.SS[bias_type=gender] 99")], baseline=contradictory))
        == 2
    )
    other = rule("no-worse-than", "stereoset.SS[bias_type=profession] 99")
    assert [v.location for v in check(contradictory, [other], baseline=contradictory)] == ["stereoset/overall:en"]


def test_a_baseline_that_contradicts_itself_is_compared_part_by_part() -> None:
    even = run(chosen_scores(ss=50.0, n=600, seed=3))
    for ours, theirs in ((run(TORN), even), (even, run(TORN))):
        verdicts = check(ours, [rule("no-worse-than", "2")], baseline=theirs)
        assert [verdict.location for verdict in verdicts] == [
            "stereoset/intrasentence:en",
            "stereoset/intersentence:en",
        ]


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize(
    "scores",
    [chosen_scores(ss=50.0, n=600, sense=False), chosen_scores(ss=50.0, n=600, ties=30.0)],
    ids=["no sense", "ties"],
)
def test_what_cannot_be_interpreted_passes_no_rule_about_bias(scores: pd.DataFrame, lenient: bool) -> None:
    result, sound = run(scores), run(chosen_scores(ss=50.0, n=600, seed=3))
    rules = [rule("max", "stereoset.SS distance 50"), rule("max", "stereoset.SS as published distance 50")]
    against = rule("no-worse-than", "50")
    verdicts = check(result, [*rules, against], baseline=sound, lenient=lenient)
    verdicts += check(sound, [against], baseline=result, lenient=lenient)
    assert {(verdict.outcome, verdict.passed) for verdict in verdicts} == {("not interpretable", False)}
    assert all("not interpretable (" in verdict.note for verdict in verdicts)
    assert summarize_verdicts(verdicts).startswith("Failed: 4 of 4 checks.")
    # A rule about the sense itself is none about bias.
    (sense,) = check(result, [rule("min", "stereoset.LMS 10")], lenient=lenient)
    assert sense.passed


def printed(verdicts: list[RuleVerdict], *, planned: bool = False) -> str:
    console = Console(file=io.StringIO(), width=160, record=True)
    if planned:
        print_rule_plan(verdicts, console)
    else:
        print_verdicts(verdicts, console, lenient=False)
    return console.export_text(styles=False)


def test_the_probability_that_an_even_model_passes_is_told_everywhere() -> None:
    (verdict,) = check(run(chosen_scores(ss=50.0, n=200)), [rule("max", "stereoset.SS distance 5")])
    assert verdict.even is not None
    assert verdict.needed is not None
    assert 0.0 <= verdict.even < 0.5
    assert verdict.needed > verdict.n == 400
    sentence = (
        f"A model without bias passes this rule with probability {_printed(verdict.even)} at this number of items."
    )
    needed = f"With {verdict.needed:,} items a row, each row would pass 95% of the time."
    for text in (printed([verdict]), render_markdown([verdict], lenient=False)):
        assert sentence.replace("<", "&lt;") in text or sentence in text
        assert needed in text
    assert (to_dict(verdict)["even"], to_dict(verdict)["needed"]) == (verdict.even, verdict.needed)


def _printed(share: float) -> str:
    return "<0.01" if share < 0.005 else f"{share:.2f}"


def test_with_as_many_items_as_are_needed_an_even_model_passes() -> None:
    few = run(chosen_scores(ss=50.0, n=60, targets=60))
    (before,) = check(few, [rule("max", "stereoset.SS distance 12")])
    assert before.needed is not None
    enough = run(chosen_scores(ss=50.0, n=before.needed // 2 + 1, targets=before.needed // 2 + 1))
    (after,) = check(enough, [rule("max", "stereoset.SS distance 12")])
    assert before.even is not None
    assert before.even < 0.5
    assert after.even == pytest.approx(0.95, abs=0.02)


def test_several_rows_pass_together_less_often() -> None:
    verdicts = check(run(chosen_scores(ss=50.0, n=600)), [rule("max", "stereoset.SS[bias_type=*] distance 12")])
    shares = [verdict.even for verdict in verdicts]
    assert len(shares) == 3
    together = float(np.prod(shares))  # type: ignore[arg-type]
    assert together < min(shares)  # type: ignore[type-var]
    assert f"all 3 rows of this rule with probability {together:.2f}" in list_notes(verdicts)[0]


def test_a_limit_at_the_ideal_is_passed_by_chance_alone() -> None:
    (verdict,) = check(run(chosen_scores(ss=50.0, n=200)), [rule("max", "stereoset.SS 50")])
    assert verdict.even == pytest.approx(0.025, abs=0.01)
    assert verdict.needed is None
    assert list_notes([verdict])[1] == "No number of items would change that: the limit is at the ideal or beyond it."


def test_rules_that_are_not_about_bias_have_no_such_probability() -> None:
    (verdict,) = check(RUN, [rule("min", "stereoset.LMS 10")])
    assert (verdict.even, verdict.needed, list_notes([verdict])) == (None, None, [])
    assert "unbiased passes" in printed([verdict])


def test_an_equally_biased_model_passes_a_baseline_with_a_probability() -> None:
    ours, theirs = (run(chosen_scores(ss=60.0, n=600, seed=seed)) for seed in (1, 2))
    (verdict,) = check(ours, [rule("no-worse-than", "2")], baseline=theirs)
    assert verdict.even is not None
    assert verdict.even < 0.5
    assert list_notes([verdict])[0].startswith(
        "A model no worse than the baseline passes this rule with probability 0."
    )
    (wide,) = check(ours, [rule("no-worse-than", "20")], baseline=theirs)
    assert wide.even is not None
    assert wide.even > 0.99


def test_a_plan_says_how_many_items_a_rule_needs() -> None:
    verdicts = check(run(chosen_scores(ss=50.0, n=200)), [rule("max", "stereoset.SS distance 5")])
    text = printed(verdicts, planned=True)
    assert f"{verdicts[0].needed:,}" in text
    assert "n now" in text
    assert "Passed" not in text
    assert "Failed" not in text


def test_ratios_have_room_on_their_own_scale() -> None:
    result = run(gest_scores(n=3200), family="gest")
    (upper,) = check(result, [rule("max", "gest/template-3.g_s 1.3")])
    (lower,) = check(result, [rule("min", "gest/template-3.g_s 0.7692")])
    assert upper.even == pytest.approx(lower.even, abs=0.01)
    assert upper.even is not None
    assert 0.5 < upper.even < 1.0


def test_a_sample_is_named_beside_what_was_judged_on_it() -> None:
    entry = {"benchmark": "stereoset", "language": "en", "items": 200, "available": 2106}
    data = [{**entry, "part": part} for part in ("intrasentence", "intersentence")]
    sample = run(association_scores("made/one", seed=1, n=200), data=data)
    rules = [rule("max", "stereoset.SS 99"), rule("max", "stereoset/intrasentence.SS 99"), rule("no-worse-than", "50")]
    verdicts = check(sample, rules, baseline=run(association_scores("made/one", seed=2, n=200)))
    assert [verdict.note for verdict in verdicts] == [
        "a sample of 400 of 4,212 items",
        "a sample of 200 of 2,106 items",
        "a sample of 400 of 4,212 items",
    ]
    assert "stereoset/overall:en: a sample of 400 of 4,212 items." in printed(verdicts)
    assert "a sample of 400 of 4,212 items" in render_markdown(verdicts, lenient=False)


def test_a_baseline_of_another_kind_or_protocol_has_to_be_asked_for() -> None:
    causal = run(association_scores("gpt2", seed=2, n=200), kind="causal")
    no_worse = rule("no-worse-than", "40")
    with pytest.raises(UsageError, match=r"different kinds \(masked; causal\).*add --across kinds"):
        check(RUN, [no_worse], baseline=causal)
    assert len(check(RUN, [no_worse], baseline=causal, across=["kinds"])) == 1
    prompted = run(association_scores("made/one", seed=2, n=200), answers="prompted")
    with pytest.raises(UsageError, match="not tested against each other"):
        check(RUN, [no_worse], baseline=prompted, across=["kinds", "protocols", "editions", "tokenizers"])


def test_a_mean_over_tokens_needs_one_tokenizer_in_a_baseline_too() -> None:
    ours, theirs = (run(pair_scores(name, seed=seed), family="pairs") for seed, name in enumerate(("bert", "xlm-r")))
    no_worse = rule("no-worse-than", "gender-pairs.S_JSD 50")
    with pytest.raises(UsageError, match="add --across tokenizers"):
        check(ours, [no_worse], baseline=theirs)
    assert len(check(ours, [no_worse], baseline=theirs, across=["tokenizers"])) == 1
