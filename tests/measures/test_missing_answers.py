"""Missing answers: worst-case bounds, the verdicts that they allow, and differences between sides."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from perf.simulations.chat_limits import build_scores, draw_pairs
from perf.simulations.chat_limits import limits as simulate_limits
from perf.simulations.missing import draw_refusals
from perf.simulations.missing import refusals as simulate_refusals
from tests.measures.present import present
from tests.measures.test_choices import A, S, chosen, table
from tests.support.messages import assert_mentions
from tiltmeter.benchmarks.forced_choice.choice_scores import ItemAnswer, compute_item_scores
from tiltmeter.benchmarks.forced_choice.option_orders import Arrangement
from tiltmeter.measures import choices, gest_mt, multiple_choice
from tiltmeter.measures.association import SS
from tiltmeter.measures.estimates import Share, compute_two_sided_p
from tiltmeter.measures.missing_gaps import describe_missing_gaps
from tiltmeter.measures.records import Record, RecordKey, build_estimate_record
from tiltmeter.measures.skipped_items import widen_for_skipped_items
from tiltmeter.measures.verdict_rule import assign_verdicts


def of_all(records: list[Record]) -> dict[str, Record]:
    return {record.measure: record for record in assign_verdicts(records) if record.view == "all"}


def test_bounds_count_all_missing_answers_on_one_side() -> None:
    answers = {"1": chosen(S, S), "2": chosen(S, None, True), "3": chosen(A, A), "4": chosen(None, None, True)}
    record = of_all(choices.measure(table(answers)))["chosen stereotype"]
    assert record.value == pytest.approx((100 + 100 + 0) / 3)
    assert record.missing == pytest.approx(3 / 8)
    assert record.lowest_possible == pytest.approx((100 + 50 + 0 + 0) / 4)
    assert record.highest_possible == pytest.approx((100 + 100 + 0 + 100) / 4)


def test_without_missing_answers_there_are_no_bounds() -> None:
    answers = {str(number): chosen(S, A if number % 2 else S) for number in range(20)}
    record = of_all(choices.measure(table(answers)))["chosen stereotype"]
    assert (record.missing, record.lowest_possible, record.highest_possible) == (None, None, None)
    values = np.array([50.0 if number % 2 else 100.0 for number in range(20)])
    assert record.p_value == compute_two_sided_p(Share.from_values(values), 50.0)


def test_p_values_are_those_of_the_worst_case() -> None:
    """Of 200 pairs, 130 are answered with the stereotype, 40 with the opposite, and 30 are refused."""
    answers = {str(number): chosen(S, S) for number in range(130)}
    answers |= {str(number): chosen(A, A) for number in range(130, 170)}
    answers |= {str(number): chosen(None, None, True) for number in range(170, 200)}
    record = of_all(choices.measure(table(answers)))["chosen stereotype"]
    worst = Share.from_values(np.array([100.0] * 130 + [0.0] * 70))
    assert record.p_value == pytest.approx(compute_two_sided_p(worst, 50.0))
    assert record.p_beyond == pytest.approx(worst.compute_p_above(55.0))
    given = Share.from_values(np.array([100.0] * 130 + [0.0] * 40))
    assert (record.low, record.high) == pytest.approx(given.interval())


@pytest.mark.parametrize(("share", "refused"), [(0.65, 0.45), (0.5, 0.4)])
def test_refusals_of_one_side_allow_no_claim(share: float, refused: float) -> None:
    """The given answers alone would be within the margin, or far below 50."""
    scores = build_scores(draw_refusals(np.random.default_rng(3), 800, share, refused, 0.0))
    verdict = present(of_all(choices.measure(scores))["chosen stereotype"].verdict)
    assert verdict.kind == "inconclusive"
    counts = simulate_refusals(800, share, refused, 0.0)(np.random.default_rng(4), 40)
    assert counts["beyond"][0] == counts["no bias"][0] == 0
    assert counts["significant against"][0] <= 4  # at most 2.5% are expected


def test_the_reason_names_the_missing_share_and_the_possible_values() -> None:
    scores = build_scores(draw_refusals(np.random.default_rng(3), 800, 0.5, 0.4, 0.0))
    record = of_all(choices.measure(scores))["chosen stereotype"]
    assert_mentions(
        present(record.verdict).reason,
        f"{present(record.missing):.0%}",
        f"{present(record.lowest_possible):.1f}",
        f"{present(record.highest_possible):.1f}",
    )


def test_more_items_do_not_help_if_missing_answers_allow_every_conclusion() -> None:
    """65% stereotypes, of which 45% are refused: with any number of items, 50 and more than 55 remain possible."""
    few, many = (build_scores(draw_refusals(np.random.default_rng(3), n, 0.65, 0.45, 0.0)) for n in (150, 800))
    for scores in (few, many):
        verdict = present(of_all(choices.measure(scores))["chosen stereotype"].verdict)
        assert verdict.kind == "inconclusive"
        assert_mentions(verdict.reason, "answers are missing")
    # With few refusals, more items would decide.
    scores = build_scores(draw_refusals(np.random.default_rng(3), 150, 0.53, 0.02, 0.02))
    assert_mentions(present(of_all(choices.measure(scores))["chosen stereotype"].verdict).reason, "items reliably show")


def test_few_missing_answers_do_not_turn_a_large_bias() -> None:
    scores = build_scores(draw_refusals(np.random.default_rng(5), 800, 0.8, 0.05, 0.05))
    verdict = present(of_all(choices.measure(scores))["chosen stereotype"].verdict)
    assert (verdict.kind, verdict.side, verdict.size) == ("significant", "towards", "beyond")


def gest_answers(refused_men: int, refused_women: int, each: int = 40) -> pd.DataFrame:
    """Return scores of sentences that are masculine for men and feminine for women, with refusals on either side."""
    roles = ("masculine", "feminine")
    answers: dict[str, list[ItemAnswer]] = {}
    stereotypes: list[object] = []
    for stereotype in range(1, 17):
        refused = refused_men if stereotype > 7 else refused_women
        for number in range(each):
            choice = "" if number < refused else "masculine" if stereotype > 7 else "feminine"
            shares = tuple(float(role == choice) for role in roles)
            answer = ItemAnswer(Arrangement(0, (0, 1), False), roles, shares, not choice)
            answers[f"{stereotype}-{number}"] = [answer, answer._replace(arrangement=Arrangement(0, (1, 0), False))]
            stereotypes.append(stereotype)
    return table(answers, stereotype=stereotypes)


def test_the_gap_has_bounds_per_stereotype() -> None:
    record = of_all(choices.measure(gest_answers(4, 8)))["masculine choice gap"]
    assert record.value == pytest.approx(100.0)
    assert record.highest_possible == pytest.approx(100.0)
    assert record.lowest_possible == pytest.approx(100.0 * (36 / 40 - 8 / 40))
    assert present(record.verdict).size == "beyond"


def test_more_refusals_about_men_are_a_finding() -> None:
    row = of_all(choices.measure(gest_answers(18, 2)))
    assert row["gender refusals gap"].value == pytest.approx(100.0 * (18 - 2) / 40)
    (clause,) = describe_missing_gaps(row)
    assert_mentions(clause, "stereotypes about men", "45% against 5%", "stereotypes about women")
    assert describe_missing_gaps(of_all(choices.measure(gest_answers(6, 6)))) == []


def question_scores(refused: dict[str, int], each: int = 200) -> pd.DataFrame:
    """Return scores of questions that are answered rightly, apart from this number of refusals by right answer."""
    roles = ("stereotype", "anti-stereotype", "unknown")
    rows = []
    for correct, refusals in refused.items():
        for number in range(each):
            shares = tuple(float(role == correct and number >= refusals) for role in roles)
            answer = ItemAnswer(Arrangement(0, (0, 1, 2), False), roles, shares, number < refusals)
            rows += [
                {
                    "model": "chat:made",
                    "benchmark": "made-bbq",
                    "part": "disambiguated",
                    "language": "en",
                    "protocol": "forced-choice",
                    "item": f"{correct}-{number:03}",
                    "candidate": role,
                    "role": role,
                    "score": score,
                    "bias_type": "age",
                    "template": f"t{number % 12}",
                    "polarity": "neg",
                    "correct": correct,
                }
                for role, score in compute_item_scores([answer])
            ]
    return pd.DataFrame(rows)


def test_questions_have_bounds_and_differences_of_refusals() -> None:
    row = of_all(multiple_choice.measure(question_scores({"stereotype": 90, "anti-stereotype": 10})))
    bias = row["BBQ bias"]
    assert bias.value == pytest.approx(0.0)
    # All refusals with the wrong person, for each right answer: 90 or 10 of 200 items change by 2 (from 1 to -1).
    assert bias.lowest_possible == pytest.approx(100 * ((110 - 90) / 200 - 1) / 2)
    assert bias.highest_possible == pytest.approx(100 * (1 + (10 - 190) / 200) / 2)
    assert present(bias.verdict).kind == "inconclusive"
    assert_mentions(present(bias.verdict).reason, "25% of the answers are missing")
    assert row["answer accuracy"].lowest_possible == pytest.approx(100 * 300 / 400)
    (clause,) = describe_missing_gaps(row)
    assert_mentions(clause, "the stereotype is right", "45% against 5%")


def translations(counts: dict[int, tuple[int, int, int]]) -> pd.DataFrame:
    """Return scores with these numbers of masculine, feminine and genderless translations by stereotype."""
    key = {"model": "sys", "benchmark": "gest-mt", "part": "all", "language": "sk", "protocol": "rules"}
    key["role"] = "speaker_gender"
    return pd.DataFrame(
        [
            {
                **key,
                "item": f"{stereotype}-{number}",
                "role": "speaker_gender",
                "score": score,
                "stereotype": stereotype,
            }
            for stereotype, (masculine, feminine, none) in counts.items()
            for number, score in enumerate([1.0] * masculine + [0.0] * feminine + [math.nan] * none)
        ]
    )


def test_translations_without_a_gender_bound_f_s() -> None:
    men, women = (48, 12, 20), (30, 30, 20)
    row = of_all(gest_mt.measure(translations({n: men if n > 7 else women for n in range(1, 17)}), resamples=20))
    f_s = row["f_s"]
    share = gest_mt.compute_masculine_share
    assert f_s.missing == pytest.approx(0.25)
    assert f_s.lowest_possible == pytest.approx(share(48, 32) - share(50, 30))
    assert f_s.highest_possible == pytest.approx(share(68, 12) - share(30, 50))
    assert present(f_s.low) > 0.05
    assert present(f_s.verdict).kind == "inconclusive"
    assert describe_missing_gaps(row) == []


def test_untold_genders_of_one_side_are_a_finding() -> None:
    counts = {n: (40, 10, 0) if n > 7 else (20, 10, 20) for n in range(1, 17)}
    (clause,) = describe_missing_gaps(of_all(gest_mt.measure(translations(counts), resamples=20)))
    assert_mentions(clause, "stereotypes about women", "40% against 0%")


def test_a_stereotype_with_few_translations_is_left_out() -> None:
    counts = {n: (60, 10, 0) if n > 7 else (30, 40, 0) for n in range(1, 17)}
    counts[3] = (5, 0, 0)
    scores = translations(counts)
    row = of_all(gest_mt.measure(scores, resamples=20))
    remaining = of_all(gest_mt.measure(translations({n: c for n, c in counts.items() if n != 3}), resamples=20))
    assert row["f_s"].value == remaining["f_s"].value
    assert (row["f_s"].low, row["f_s"].high) == (remaining["f_s"].low, remaining["f_s"].high)
    assert present(row["f_s"].verdict).size == "beyond"
    assert_mentions(row["f_s"].why or "", "3 (with 5)", "20")
    rates = {n: gest_mt.compute_masculine_share(*c[:2]) for n, c in counts.items()}
    assert row["f_s as published"].value == gest_mt.compute_rates(rates)["f_s"]
    (note,) = gest_mt.notes(scores)
    assert_mentions(note, "f_s of sys", "gest-mt:sk", "3 (with 5)")
    assert "f_s as published" not in remaining


def test_if_most_stereotypes_of_a_side_are_small_none_is_left_out() -> None:
    counts = {n: (60, 10, 0) if n > 7 else (5, 5, 0) for n in range(1, 17)}
    row = of_all(gest_mt.measure(translations(counts), resamples=20))
    assert row["f_s"].low is None
    assert present(row["f_s"].verdict).kind == "too few"
    assert "f_s as published" not in row


@pytest.mark.parametrize(("share", "position", "mixed", "rejected"), [(0.6, 0.35, False, 0), (0.6, 0.6, True, 8)])
def test_limits_do_not_depend_on_the_number_of_items(share: float, position: float, mixed: bool, rejected: int) -> None:
    counts = simulate_limits(share, position, mixed)(np.random.default_rng(2), 8)
    assert counts["n=400"][0] == counts["n=1,500"][0] == counts["n=6,000"][0] == rejected
    assert abs(counts["n=80"][0] - rejected) <= 3


def test_positions_that_cancel_out_are_found_by_agreement() -> None:
    scores = build_scores(draw_pairs(np.random.default_rng(1), 400, 0.6, 0.8, True))
    row = of_all(choices.measure(scores))
    assert row["position effect"].value < 20
    assert_mentions(present(row["chosen stereotype"].verdict).reason, "different orders", "38%")


def test_skipped_items_are_missing_answers() -> None:
    """Of 1,000 items, 570 of 900 prefer the stereotype, and 100 have no score."""
    share = Share.from_values(np.array([100.0] * 570 + [0.0] * 330))
    record = build_estimate_record(
        RecordKey("m", "b", "intrasentence", "en", "published"), "intrasentence", "all", "all", SS, share, 900
    )
    (widened,) = widen_for_skipped_items([record], {("m", "b", "intrasentence", "en"): 100})
    assert widened.missing == pytest.approx(0.1)
    assert (widened.lowest_possible, widened.highest_possible) == pytest.approx((57.0, 67.0))
    worst = Share.from_values(np.array([100.0] * 570 + [0.0] * 430))
    assert widened.p_beyond == pytest.approx(worst.compute_p_above(55.0), abs=0.01)
    assert [present(one.verdict).size for one in assign_verdicts([record])] == ["beyond"]
    assert [present(one.verdict).size for one in assign_verdicts([widened])] == [""]
    pooled = replace(record, part="overall")
    assert widen_for_skipped_items([pooled], {("m", "b", "intrasentence", "en"): 100})[0].missing == widened.missing
    others = {("m", "b", "intersentence", "en"): 100, ("m", "b", "intrasentence", "de"): 100}
    assert widen_for_skipped_items([record], others) == [record]
