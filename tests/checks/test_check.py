import io

import pytest
from rich.console import Console

from tests.runs.made import association_scores, gest_scores, pair_scores, run
from tiltmeter.checks import Rule, check, parse_rule
from tiltmeter.errors import UsageError
from tiltmeter.measures.records import Record
from tiltmeter.reports.checks import markdown, print_verdicts, summary, to_dict
from tiltmeter.runs import Result

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
    assert [v.place for v in check(RUN, [rule("max", "stereoset.SS 99")])] == ["stereoset/overall:en"]
    assert [v.place for v in check(RUN, [rule("max", "stereoset/intrasentence.SS 99")])] == [
        "stereoset/intrasentence:en"
    ]
    assert len(check(RUN, [rule("max", "stereoset/*.SS 99")])) == 3


def test_groups_and_measures_with_a_view_of_their_own() -> None:
    verdicts = check(RUN, [rule("max", "stereoset.SS[bias_type=*] 99")])
    assert [verdict.of for verdict in verdicts] == [f"SS, bias_type {one}" for one in ("gender", "profession", "race")]
    (macro,) = check(RUN, [rule("min", "stereoset.ICAT macro 1")])
    assert macro.of == "ICAT macro, targets all"
    (macro,) = check(RUN, [rule("min", "stereoset.ICAT macro[bias_types=all] 1")])
    assert macro.of == "ICAT macro, bias_types all"


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
    one = run(association_scores("made/new", seed=1, n=n, lean=0.7))
    rounded = one.scores.assign(score=one.scores["score"] * (1 + 1e-6))
    for other in (one, run(rounded)):
        (verdict,) = check(one, [rule("no-worse-than", margin)], baseline=other)
        assert (verdict.outcome, verdict.passed, verdict.value, verdict.even) == ("holds", True, 0.0, 1.0)
        assert verdict.note == "the two gave the same answers"
    changed = one.scores.assign(score=one.scores["score"] + (one.scores["item"] == "intra-001"))
    (verdict,) = check(one, [rule("no-worse-than", margin)], baseline=run(changed))
    assert "the same answers" not in verdict.note


def test_a_baseline_by_measure_and_group() -> None:
    other = run(association_scores("made/new", seed=5, n=200))
    verdicts = check(other, [rule("no-worse-than", "stereoset/intrasentence.LMS[bias_type=*] 30")], baseline=RUN)
    assert len(verdicts) == 3
    assert all(verdict.passed for verdict in verdicts)


def test_log_ratios_have_to_be_named() -> None:
    ours, theirs = (run(gest_scores(seed=seed), family="gest") for seed in (1, 2))
    assert len(check(ours, [rule("no-worse-than", "gest.log g_s 2")], baseline=theirs)) == 1
    with pytest.raises(UsageError, match="is for percentages that lean"):
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
        ("2", run(pair_scores(), family="pairs"), "baseline has nothing for stereoset/overall:en"),
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


def test_the_summary_says_why() -> None:
    verdicts = check(of(57, 55, 59), [rule("max", "stereoset.SS 58")])
    assert summary(verdicts).startswith("Failed: 1 of 1 checks. For 1 the interval reaches over the limit")
    assert summary(check(of(57, 55, 59), [rule("max", "stereoset.SS 58")], lenient=True)) == (
        "Passed: 1 of 1 checks, 1 of them with too few items to be sure."
    )


def test_markdown_stays_a_table() -> None:
    result = run(association_scores("<b>a|b</b>\n`x`"))
    text = markdown(check(result, [rule("max", "stereoset.SS 99")]), lenient=False)
    rows = [line for line in text.splitlines() if line.startswith("| :")]
    assert len(rows) == 1
    assert "<b>" not in text
    assert rows[0].replace("\\|", "").count("|") == 8
    assert ":white_check_mark: holds" in text
