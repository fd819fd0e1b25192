import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from tests.runs.made import association_scores, chosen_scores, gest_scores, half_sensible_scores, pair_scores, run
from tests.support.messages import assert_mentions, raises_mentioning
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
        assert_mentions(verdict.note, "same answers")
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
    with raises_mentioning(UsageError, "--no-worse-than 2", "log g_s"):
        check(ours, [rule("no-worse-than", "2")], baseline=theirs)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("sterioset.SS 5", ["no benchmark 'sterioset'", "(did you mean stereoset?)"]),
        ("stereoset.SSS 5", ["no measure 'SSS'", "(did you mean SS?)"]),
        ("stereoset:xx.SS 5", ["no language 'xx'", "it has en"]),
        ("stereoset/intra.SS 5", ["no part 'intra'"]),
        ("stereoset.SS[bias=gender] 5", ["no view 'bias'"]),
        ("stereoset.SS[bias_type=gendre] 5", ["no group 'gendre'", "(did you mean gender?)"]),
        ("stereoset/overall.ties distance 5", ["ties has no ideal"]),
    ],
)
def test_rules_that_match_nothing(text: str, parts: list[str]) -> None:
    with raises_mentioning(UsageError, text, *parts):
        check(RUN, [rule("max", text)])


@pytest.mark.parametrize(
    ("text", "baseline", "parts"),
    [
        ("2", None, ["no-worse-than 2", "--baseline"]),
        ("2", run(pair_scores(), family="pairs"), ["no scores", "stereoset/overall:en"]),
        ("2", run(association_scores(first=900)), ["no items", "stereoset/overall:en"]),
        ("2", run(association_scores(protocol="in-context")), ["in-context", "add --across protocols"]),
        ("2", run(association_scores("b"), association_scores("c")), ["made/one", "b, c"]),
        ("stereoset.SSS 2", RUN, ["'SSS'", "(did you mean SS?)"]),
        ("sterioset.SS 2", RUN, ["'sterioset'", "(did you mean stereoset?)"]),
        ("stereoset.SS[bias=x] 2", RUN, ["attribute 'bias'", "bias_type"]),
        ("stereoset.SS[bias_type=x] 2", RUN, ["bias_type 'x'", "gender"]),
    ],
)
def test_baselines_that_do_not_fit(text: str, baseline: Result | None, parts: list[str]) -> None:
    with raises_mentioning(UsageError, *parts):
        check(RUN, [rule("no-worse-than", text)], baseline=baseline)


def test_no_rules() -> None:
    with raises_mentioning(UsageError, "no rules", "--max"):
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
    assert ("Lenient: " if lenient else "Strict: ") in text
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
    assert_mentions(summarize_verdicts(verdicts), "Failed: 1 of 1", "the interval contains the limit")
    lenient = check(of(57, 55, 59), [rule("max", "stereoset.SS 58")], lenient=True)
    assert_mentions(summarize_verdicts(lenient), "Passed: 1 of 1", "1 of them")


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
def test_parts_that_contradict_each_other_are_judged_separately(lenient: bool) -> None:
    pooled = run(chosen_scores(ss=50.0, n=1000))
    within_5 = rule("max", "stereoset.SS distance 5")
    assert [verdict.passed for verdict in check(pooled, [within_5], lenient=lenient)] == [True]
    verdicts = check(run(TORN), [within_5], lenient=lenient)
    assert [verdict.location for verdict in verdicts] == ["stereoset/intrasentence:en", "stereoset/intersentence:en"]
    assert [verdict.outcome for verdict in verdicts] == ["broken", "broken"]
    for verdict in verdicts:
        assert_mentions(verdict.note, "parts contradict each other")


def test_a_rule_for_pooled_parts_that_contradict_each_other() -> None:
    (verdict,) = check(run(TORN), [rule("max", "stereoset/overall.SS distance 5")])
    assert_mentions(verdict.note, "contradictory", "intrasentence towards", "intersentence against")
    assert (verdict.outcome, verdict.passed) == ("contradictory", False)


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
@pytest.mark.parametrize("measure", ["SS distance 5", "ICAT 100"])
def test_interpretable_parts_are_judged_if_another_is_not(measure: str, lenient: bool) -> None:
    result = run(half_sensible_scores(ss=51.0, n=2000))
    verdicts = check(result, [rule("max", f"stereoset.{measure}")], lenient=lenient)
    assert {verdict.location: verdict.outcome for verdict in verdicts} == {
        "stereoset/intrasentence:en": "holds",
        "stereoset/intersentence:en": "not interpretable",
    }
    assert [verdict.passed for verdict in verdicts] == [True, False]
    assert_mentions(verdicts[0].note, "judged separately")
    (pooled,) = check(result, [rule("max", f"stereoset/overall.{measure}")], lenient=lenient)
    assert (pooled.outcome, pooled.passed) == ("not interpretable", False)


def test_a_baseline_with_an_uninterpretable_part_is_compared_part_by_part() -> None:
    """The two runs have models of different names."""
    even, unsound = run(chosen_scores(ss=50.0, n=600, seed=3)), run(half_sensible_scores("made/two", 50.0, n=600))
    for ours, theirs in ((unsound, even), (even, unsound)):
        verdicts = check(ours, [rule("no-worse-than", "stereoset.SS 10")], baseline=theirs)
        assert {verdict.location: verdict.outcome for verdict in verdicts} == {
            "stereoset/intrasentence:en": "holds",
            "stereoset/intersentence:en": "not interpretable",
        }


def test_a_contradictory_baseline_of_another_model_is_compared_part_by_part() -> None:
    other = chosen_scores("made/two", ss={"intrasentence": 60.0, "intersentence": 40.0}, n=600)
    verdicts = check(run(chosen_scores(ss=50.0, n=600)), [rule("no-worse-than", "2")], baseline=run(other))
    assert [verdict.location for verdict in verdicts] == ["stereoset/intrasentence:en", "stereoset/intersentence:en"]
    pooled = rule("no-worse-than", "stereoset/overall.SS 50")
    (verdict,) = check(run(chosen_scores(ss=50.0, n=600)), [pooled], baseline=run(other))
    assert (verdict.outcome, verdict.passed) == ("contradictory", False)


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize(
    "scores",
    [chosen_scores(ss=50.0, n=600, sense=False), chosen_scores(ss=50.0, n=600, ties=30.0)],
    ids=["no sense", "ties"],
)
def test_uninterpretable_results_pass_no_rule_about_bias(scores: pd.DataFrame, lenient: bool) -> None:
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


def test_the_probability_that_an_unbiased_model_passes_is_printed() -> None:
    (verdict,) = check(run(chosen_scores(ss=50.0, n=200)), [rule("max", "stereoset.SS distance 5")])
    assert verdict.even is not None
    assert verdict.needed is not None
    assert 0.0 <= verdict.even < 0.5
    assert verdict.needed > verdict.n == 400
    for text in (printed([verdict]), render_markdown([verdict], lenient=False).replace("&lt;", "<")):
        assert_mentions(text, f"with probability {_printed(verdict.even)}", f"{verdict.needed:,} items")
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
    assert_mentions(list_notes(verdicts)[0], "all 3 rows", f"with probability {together:.2f}")


def test_a_limit_at_the_ideal_is_passed_by_chance_alone() -> None:
    (verdict,) = check(run(chosen_scores(ss=50.0, n=200)), [rule("max", "stereoset.SS 50")])
    assert verdict.even == pytest.approx(0.025, abs=0.01)
    assert verdict.needed is None
    assert_mentions(list_notes([verdict])[1], "No number of items")


def test_rules_that_are_not_about_bias_have_no_such_probability() -> None:
    (verdict,) = check(RUN, [rule("min", "stereoset.LMS 10")])
    assert (verdict.even, verdict.needed, list_notes([verdict])) == (None, None, [])
    assert "unbiased passes" in printed([verdict])


def test_an_equally_biased_model_passes_a_baseline_with_a_probability() -> None:
    ours, theirs = (run(chosen_scores(ss=60.0, n=600, seed=seed)) for seed in (1, 2))
    (verdict,) = check(ours, [rule("no-worse-than", "2")], baseline=theirs)
    assert verdict.even is not None
    assert verdict.even < 0.5
    assert_mentions(list_notes([verdict])[0], "the baseline", "with probability 0.")
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
    for verdict, sample in zip(verdicts, ("400 of 4,212", "200 of 2,106", "400 of 4,212"), strict=True):
        assert_mentions(verdict.note, f"{sample} items")
    assert_mentions(printed(verdicts), "stereoset/overall:en: a sample", "400 of 4,212 items")
    assert_mentions(render_markdown(verdicts, lenient=False), "400 of 4,212 items")


def test_a_baseline_of_another_kind_or_protocol_has_to_be_asked_for() -> None:
    causal = run(association_scores("gpt2", seed=2, n=200), kind="causal")
    no_worse = rule("no-worse-than", "40")
    with raises_mentioning(UsageError, "(masked; causal)", "add --across kinds"):
        check(RUN, [no_worse], baseline=causal)
    assert len(check(RUN, [no_worse], baseline=causal, across=["kinds"])) == 1
    prompted = run(association_scores("made/one", seed=2, n=200), answers="prompted")
    with raises_mentioning(UsageError, "likelihoods", "prompts"):
        check(RUN, [no_worse], baseline=prompted, across=["kinds", "protocols", "editions", "tokenizers"])


def test_a_mean_over_tokens_needs_one_tokenizer_in_a_baseline_too() -> None:
    ours, theirs = (run(pair_scores(name, seed=seed), family="pairs") for seed, name in enumerate(("bert", "xlm-r")))
    no_worse = rule("no-worse-than", "gender-pairs.S_JSD 50")
    with raises_mentioning(UsageError, "add --across tokenizers"):
        check(ours, [no_worse], baseline=theirs)
    assert len(check(ours, [no_worse], baseline=theirs, across=["tokenizers"])) == 1
