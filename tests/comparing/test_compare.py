import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.runs.made import association_scores, chosen_scores, gest_scores, half_sensible_scores, pair_scores, run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.cells import build_cells, restrict_cells
from tiltmeter.comparing.comparison import compare
from tiltmeter.errors import DataError, UsageError
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.reports.comparison import format_numbers

ONE = run(association_scores("made/one", seed=1, lean=1.5))
TWO = run(association_scores("made/two", seed=2))


def test_models_are_compared_on_the_same_items() -> None:
    comparison = compare([("a", ONE), ("b", TWO)])
    assert [(d.part, d.quantity.name) for d in comparison.differences] == [
        (part, measure) for part in ("intrasentence", "intersentence", "overall") for measure in ("LMS", "SS", "ICAT")
    ]
    assert {d.contrast.n for d in comparison.differences} == {60, 120}
    assert (comparison.differences[0].left.label, comparison.differences[0].right.label) == ("made/one", "made/two")
    assert comparison.notes == []


def test_a_difference_is_that_of_the_measures() -> None:
    values = [{(r.part, r.measure): r.value for r in result.records if r.view == "all"} for result in (ONE, TWO)]
    for d in compare([("a", ONE), ("b", TWO)]).differences:
        key = (d.part, d.quantity.name)
        assert d.contrast.left == pytest.approx(values[0][key])
        assert d.contrast.difference == pytest.approx(values[0][key] - values[1][key])


def test_pairs_and_log_ratios_too() -> None:
    ours, theirs = (run(pair_scores(name, seed=seed), family="pairs") for name, seed in (("a", 1), ("b", 2)))
    comparison = compare([("x", ours), ("y", theirs)], across=["tokenizers"])
    assert [d.quantity.name for d in comparison.differences] == ["CPS", "S_JSD x 1e3", "B.S_JSD"]
    ours, theirs = (run(gest_scores(name, seed=seed), family="gest") for name, seed in (("a", 1), ("b", 2)))
    (only,) = compare([("x", ours), ("y", theirs)]).differences
    g_s = next(record.value for record in ours.records if record.measure == "g_s")
    assert only.contrast.left == pytest.approx(np.log(g_s))
    assert only.contrast.test == "paired t within stereotypes"


def test_a_test_family_is_all_pairs_by_a_measure_in_a_part_and_language() -> None:
    third = run(association_scores("made/three", seed=3))
    differences = compare([("a", ONE), ("b", TWO), ("c", third)]).differences
    for part in ("intrasentence", "intersentence", "overall"):
        family = [d for d in differences if d.quantity.name == "SS" and d.part == part]
        assert {d.tests for d in family} == {3}
        assert [d.p_holm for d in family] == adjust_holm([d.contrast.p_value for d in family])
        assert [d.p_equivalence for d in family] == adjust_holm([d.contrast.p_equivalence for d in family])


def test_differences_do_not_depend_on_how_languages_are_divided_into_runs() -> None:
    english, german = (
        [run(association_scores(name, seed=seed, language=language)) for seed, name in enumerate("xyz")]
        for language in ("en", "de")
    )
    both = [run(pd.concat([a.scores, b.scores], ignore_index=True)) for a, b in zip(english, german, strict=True)]
    alone = compare([(str(number), one) for number, one in enumerate(english)]).differences
    together = compare([(str(number), one) for number, one in enumerate(both)], by="model").differences
    of_english = [d for d in together if d.subject.endswith(":en")]
    assert [(d.p_holm, d.tests, d.verdict) for d in of_english] == [(d.p_holm, d.tests, d.verdict) for d in alone]
    assert len(together) == 2 * len(alone)


def test_the_whole_comparison_can_be_one_family() -> None:
    differences = compare([("a", ONE), ("b", TWO)], families="run").differences
    assert [d.p_holm for d in differences] == adjust_holm([d.contrast.p_value for d in differences])
    assert {d.tests for d in differences} == {len(differences)}


def test_the_detectable_difference_is_corrected_like_the_verdict() -> None:
    third = run(association_scores("made/three", seed=3))
    difference = compare([("a", ONE), ("b", TWO), ("c", third)], measures=["SS"]).differences[0]
    contrast = difference.contrast
    df = (contrast.clusters or contrast.n) - 1
    t = [stats.t.ppf(1 - 0.025 / tests, df) + stats.t.ppf(0.8, df) for tests in (1, 3)]
    assert difference.detectable == pytest.approx(contrast.detectable * t[1] / t[0])
    assert difference.to_dict()["detectable"] == difference.detectable > contrast.detectable
    assert format_numbers(difference)["detectable"] == difference.quantity.measure.number(difference.detectable)


def test_p_values_at_the_level_are_not_significant() -> None:
    (first, *_) = compare([("a", ONE), ("b", TWO)], measures=["SS"]).differences
    assert not replace(first, p_holm=0.05).significant
    assert replace(first, p_holm=math.nextafter(0.05, 0)).verdict == "significant"
    assert replace(first, p_holm=0.05, p_equivalence=0.025).verdict == "inconclusive"
    assert replace(first, p_holm=0.05, p_equivalence=math.nextafter(0.025, 0)).verdict == "no difference"


def test_only_the_pair_whose_parts_differ_in_both_directions_is_contradictory() -> None:
    """Equal percentages are equal answers; between 35 and 38%, two of sixty items differ, which is not significant."""
    shares = {"one": (65.0, 35.0), "two": (35.0, 65.0), "near": (35.0, 38.0)}
    tables = {
        name: chosen_scores(name, {"intrasentence": intra, "intersentence": inter}, n=60)
        for name, (intra, inter) in shares.items()
    }
    differences = compare([(name, run(table)) for name, table in tables.items()], measures=["SS", "LMS"]).differences
    contradictions = {
        (d.quantity.name, d.part, d.left.label, d.right.label): d.contradiction for d in differences if d.contradiction
    }
    assert contradictions == {
        ("SS", "overall", "one", "two"): "one is higher in intrasentence, two is higher in intersentence"
    }


TORN = chosen_scores("torn", {"intrasentence": 60.0, "intersentence": 41.0}, n=600)
BIASED = chosen_scores("biased", 58.0, n=600, seed=7)


def test_a_contradictory_side_has_no_order_except_part_by_part() -> None:
    """Pooled, the contradictory model is much closer to 50."""
    differences = compare([("a", run(TORN)), ("b", run(BIASED))]).differences
    found = {(d.quantity.name, d.part): d for d in differences}
    for measure in ("SS", "ICAT"):
        pooled = found[measure, "overall"]
        assert pooled.p_holm < 0.05
        assert (pooled.verdict, pooled.significant) == ("contradictory", False)
        assert_mentions(pooled.contradiction, "torn: intrasentence towards stereotypes, intersentence against")
        assert found[measure, "intersentence"].verdict != "contradictory"
    assert found["SS", "intersentence"].verdict == "significant"
    assert found["LMS", "overall"].verdict not in ("contradictory", "not interpretable")


def test_a_side_with_an_uninterpretable_part_has_no_order_except_part_by_part() -> None:
    differences = compare([("a", run(half_sensible_scores("half", 65.0))), ("b", run(BIASED))]).differences
    verdicts = {(d.quantity.name, d.part): d.verdict for d in differences}
    for measure in ("SS", "ICAT"):
        assert verdicts[measure, "overall"] == verdicts[measure, "intersentence"] == "not interpretable"
    assert verdicts["SS", "intrasentence"] != "not interpretable"
    assert verdicts["LMS", "overall"] == "significant"


def test_a_contradiction_between_all_items_is_none_in_a_group() -> None:
    """Only the items about gender contradict each other, and with them all items."""
    runs = []
    for number, name in enumerate(("torn", "also torn")):
        scores = chosen_scores(name, 50.0, n=1200, seed=number)
        push = scores["part"].map({"intrasentence": 3.0, "intersentence": -3.0})
        scores.loc[(scores["bias_type"] == "gender") & (scores["role"] == "stereotype"), "score"] += push
        runs.append((name, run(scores)))

    def list_verdicts(**where: str) -> dict[str, str]:
        return {d.part: d.verdict for d in compare(runs, measures=["SS"], where=where).differences}

    assert list_verdicts()["overall"] == list_verdicts(bias_type="gender")["overall"] == "contradictory"
    assert list_verdicts(bias_type="race")["overall"] != "contradictory"


def test_languages_of_one_model() -> None:
    both = run(association_scores(language="en", seed=1), association_scores(language="de", seed=2))
    comparison = compare([("a", both)], by="language", measures=["SS"])
    assert {(d.subject, d.left.label, d.right.label) for d in comparison.differences} == {
        ("made/one on stereoset", "en", "de")
    }
    assert any("translation" in note for note in comparison.notes)


def test_different_models_in_different_languages_only_if_asked_for() -> None:
    german = run(association_scores("made/two", language="de", seed=2))
    with raises_mentioning(UsageError, "use --by any"):
        compare([("a", ONE), ("b", german)])
    comparison = compare([("a", ONE), ("b", german)], by="any", measures=["SS"])
    assert comparison.differences[0].left.label == "made/one:en"


def test_a_baseline_comes_second() -> None:
    third = run(association_scores("made/three", seed=3))
    comparison = compare([("a", ONE), ("b", TWO), ("c", third)], baseline="made/one", measures=["SS"])
    assert {(d.left.label, d.right.label) for d in comparison.differences} == {
        ("made/two", "made/one"),
        ("made/three", "made/one"),
    }


def test_items_of_one_side_only_are_counted_and_left_out() -> None:
    longer = run(association_scores("made/two", seed=2, n=70, first=20))
    comparison = compare([("a", ONE), ("b", longer)], measures=["SS"])
    first = comparison.differences[0]
    assert (first.contrast.n, first.only_left, first.only_right) == (40, 20, 30)
    parts = "stereoset:en/intrasentence: 20", "only made/one", "30", "only made/two"
    assert_mentions(comparison.notes[0], *parts)


def test_only_some_items() -> None:
    comparison = compare([("a", ONE), ("b", TWO)], where={"bias_type": "gender"})
    assert {d.contrast.n for d in comparison.differences} == {20, 40}


def test_a_stereotype_is_a_whole_number_beside_another_benchmark() -> None:
    tables = [made(model, seed=seed) for seed, model in enumerate("ab") for made in (association_scores, gest_scores)]
    mixed = pd.concat(tables, ignore_index=True)
    assert mixed["stereotype"].dtype == float
    gest = [cell for cell in build_cells("mixed", replace(ONE, scores=mixed)) if cell.benchmark == "gest"]
    (cell, _) = restrict_cells(gest, {"stereotype": "8"})
    assert cell.get_attributes(("template-3", "7")) == {"stereotype": "8"}
    assert len(cell.scores) == 4


def test_the_same_model_twice_is_told_apart_by_run_or_protocol() -> None:
    again = run(association_scores("made/one", seed=4))
    labels = {d.left.label for d in compare([("before", ONE), ("after", again)]).differences}
    assert labels == {"made/one (before)"}
    other = run(association_scores("made/one", seed=4, protocol="in-context"))
    comparison = compare([("before", ONE), ("after", other)], across=["protocols"])
    assert {d.right.label for d in comparison.differences} == {"made/one (in-context)"}


def test_disagreements_are_listed() -> None:
    (first, *_) = compare([("a", ONE), ("b", TWO)], measures=["SS"]).differences
    disagreed = first.list_disagreements()
    assert len(disagreed) == first.contrast.disagree
    assert all(abs(gap) == 100 for _, gap in disagreed)
    assert first.left.cell.get_attributes(disagreed[0][0])["bias_type"] in ("gender", "profession", "race")
    pairs = [(name, run(pair_scores(name, seed=seed), family="pairs")) for seed, name in enumerate("ab")]
    (distance,) = compare(pairs, measures=["S_JSD"], across=["tokenizers"]).differences
    gaps = [abs(gap) for _, gap in distance.list_disagreements()]
    assert gaps == sorted(gaps, reverse=True)


def test_json_has_what_is_printed() -> None:
    content = compare([("a", ONE), ("b", TWO)]).differences[0].to_dict()
    assert content["left"] == {
        "run": "a",
        "model": "made/one",
        "language": "en",
        "protocol": "published",
        "family": "likelihood",
        "kind": "masked",
    }
    assert content["difference"] == pytest.approx(content["value_left"] - content["value_right"])
    assert {"p_value", "p_holm", "p_equivalence", "tests", "verdict", "significant", "doubts"} <= content.keys()
    assert {"effect_name", "detectable", "disagree", "n", "clusters", "low", "high"} <= content.keys()


def test_translations_without_a_gender_are_left_out() -> None:
    def translations(model: str, blanks: int) -> pd.DataFrame:
        table = gest_scores(model, seed=3).assign(role="speaker_gender", benchmark="gest-mt", part="all")
        table["score"] = [np.nan if number < blanks else float(number % 2) for number in range(len(table))]
        return table

    ours, theirs = (run(translations(name, blanks), family="gest_mt") for name, blanks in (("a", 0), ("b", 7)))
    (only,) = compare([("x", ours), ("y", theirs)]).differences
    assert (only.quantity.name, only.contrast.n, only.only_left, only.only_right) == ("f_s", 57, 7, 0)


@pytest.mark.parametrize(
    ("runs", "options", "parts"),
    [
        ([("a", ONE)], {}, ["made/one on stereoset:en", "second run"]),
        ([("a", ONE), ("b", TWO)], {"by": "language"}, ["--by language", "use --by model"]),
        ([("a", ONE), ("b", ONE)], {"by": "language"}, ["--by language", "use --by model"]),
        ([("a", ONE), ("b", TWO)], {"measures": ["SSS"]}, ["measure 'SSS'", "(did you mean SS?)"]),
        ([("a", ONE), ("b", TWO)], {"measures": ["CPS"]}, ["in CPS", "LMS, SS, ICAT"]),
        ([("a", ONE), ("b", TWO)], {"baseline": "made/tow"}, ["'made/tow'", "(did you mean made/two?)"]),
        ([("a", ONE), ("b", TWO)], {"baseline": "en"}, ["compared with en", "--baseline"]),
        ([("a", ONE), ("b", TWO)], {"where": {"bias": "gender"}}, ["attribute 'bias'", "bias_type, target"]),
        ([("a", ONE), ("b", TWO)], {"where": {"bias_type": "gendre"}}, ["'gendre'", "(did you mean gender?)"]),
    ],
)
def test_impossible_comparisons(runs: list, options: dict, parts: list[str]) -> None:
    with raises_mentioning(UsageError, *parts):
        compare(runs, **options)


def test_runs_that_share_nothing() -> None:
    sides = [
        f"{model} on stereoset/intrasentence:en (in {run_})" for model, run_ in (("made/one", "a"), ("made/two", "b"))
    ]
    with raises_mentioning(UsageError, *sides, "share no items", "--limit"):
        compare([("a", ONE), ("b", run(association_scores("made/two", first=500)))])
    with raises_mentioning(UsageError, "same benchmark and part"):
        compare([("a", ONE), ("b", run(pair_scores(), family="pairs"))])
    both = run(association_scores(n=5), pair_scores(), family={"stereoset": "association", "gender-pairs": "pairs"})
    with raises_mentioning(UsageError, "same benchmark and part"):
        compare([("a", both)])
    other = pair_scores("made/two").assign(benchmark="stereoset", part="intrasentence", item="intra-001")
    other = other.drop_duplicates("role")
    with raises_mentioning(UsageError, "no measure in common", "anti-stereotype"):
        compare([("a", ONE), ("b", run(other, family="pairs"))])


def test_faulty_scores_name_the_item() -> None:
    table = association_scores("made/two")
    table.loc[0, "score"] = np.nan
    broken = run(association_scores("made/two"))
    broken = type(broken)(scores=table, records=broken.records, manifest=broken.manifest)
    with raises_mentioning(DataError, "made/two", "role stereotype", "item intra-000"):
        compare([("a", ONE), ("b", broken)])
    twice = type(broken)(
        scores=pd.concat([table.iloc[3:], table.iloc[3:4]]), records=broken.records, manifest=broken.manifest
    )
    with raises_mentioning(DataError, "b has two scores", "made/two", "role stereotype", "item intra-001"):
        build_cells("b", twice)
