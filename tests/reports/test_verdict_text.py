from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import pytest

from tests.measures.test_template_variation import of_gest, of_pairs
from tests.reports.made import association_records as association
from tests.reports.made import record, translations
from tests.runs.made import chosen_scores, gest_scores, half_sensible_scores, run
from tests.support.messages import assert_mentions
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict_rule import PORTION, WHOLE_RUN, Families, assign_verdicts
from tiltmeter.reports.record_rows import build_rows
from tiltmeter.reports.verdict_text import Headline, build_headlines, describe_verdict, list_summary_verdicts


def headline(records: Sequence[Record], families: Families = PORTION) -> Headline:
    (only,) = build_headlines(build_rows(assign_verdicts(records, families)))
    return only


def sentences_of(summary: Headline) -> str:
    return "\n".join((summary.lead, *summary.more))


# Scores, the tone of the headline, a part of its lead, parts of its sentences, and parts that must not occur.
CASES = {
    "biased": (
        chosen_scores(ss=60.0, n=800),
        "towards",
        "significant bias towards stereotypes",
        ["beyond 5 points", "60.0% of items", "n=1,600", "50 is no bias", "larger than the margin"],
        ["inconclusive", "no bias beyond", "against"],
    ),
    "even": (
        chosen_scores(ss=50.4, n=1000),
        "none",
        "no bias beyond ±5 points",
        ["SS 50.4,", "47.0 to 53.8", "n=2,000", "does not mean that there is no bias", "up to 5 points"],
        ["significant", "inconclusive", "Measure more"],
    ),
    "inconclusive": (
        chosen_scores(ss=53.0, n=200),
        "none",
        "inconclusive",
        ["400 items", "10.5 points", "Measure more items"],
        ["significant", "no bias beyond"],
    ),
    "contradictory": (
        chosen_scores(ss={"intrasentence": 60.0, "intersentence": 40.0}, n=600),
        "doubt",
        "contradictory in English",
        ["intrasentence towards stereotypes", "intersentence against", "60.0", "40.0", "Use each result"],
        ["50.0%", "no bias beyond", "inconclusive"],
    ),
    "too few": (
        chosen_scores(ss=55.0, n=20),
        "none",
        "too few items",
        ["40 items", "Measure more items"],
        ["significant", "no bias beyond"],
    ),
    "not interpretable": (
        chosen_scores(ss=60.0, n=400, sense=False),
        "doubt",
        "not interpretable",
        ["LMS 50.0", "tokenizer"],
        ["significant", "preferred in", "no bias"],
    ),
}


@pytest.mark.parametrize(("scores", "tone", "lead", "present", "absent"), CASES.values(), ids=CASES)
def test_what_a_headline_claims(
    scores: pd.DataFrame, tone: str, lead: str, present: list[str], absent: list[str]
) -> None:
    summary = headline(run(scores).records)
    assert summary.tone == tone
    assert lead in summary.lead
    assert summary.lead.startswith("made/one")
    assert_mentions(sentences_of(summary), *present)
    for words in absent:
        assert words not in sentences_of(summary), words


def test_parts_that_contradict_each_other_are_not_pooled_into_a_lead() -> None:
    scores = chosen_scores(ss={"intrasentence": 60.0, "intersentence": 40.0}, n=600)
    summary = headline(run(scores).records)
    assert_mentions(summary.lead, "towards stereotypes, beyond", "against stereotypes, beyond")
    assert_mentions(summary.lead, "English (intrasentence)", "English (intersentence)")


def test_a_bias_of_a_part_is_named_if_all_parts_together_are_not_significant() -> None:
    """Pooled 53.0 is inconclusive, 56.0 within sentences is significant."""
    records = [
        *association(ss=56.0, half=4.0, part="intrasentence"),
        *association(ss=50.0, half=6.0, part="intersentence"),
        *association(ss=53.0, half=4.0, part="overall"),
    ]
    summary = headline(records)
    assert_mentions(summary.lead, "inconclusive")
    assert_mentions(sentences_of(summary), "a single part has a bias", "intrasentence: significant bias towards")
    assert "intersentence:" not in sentences_of(summary)


def mixed(language: str = "en", ss: float = 62.0) -> list[Record]:
    """The records of likelihoods within sentences, next-sentence scores between sentences, and both pooled."""
    families = {
        "intrasentence": "likelihood",
        "intersentence": "next-sentence",
        "overall": "likelihood + next-sentence",
    }
    return [
        replace(r, family=family)
        for part, family in families.items()
        for r in association(ss=50.0 if part == "intersentence" else ss, half=1.5, part=part, language=language)
    ]


def test_parts_with_different_types_of_answers_are_named() -> None:
    summary = headline(mixed())
    assert_mentions(summary.lead, "English (intrasentence and intersentence)", "significant bias towards")
    assert_mentions(
        sentences_of(summary),
        *("intrasentence by likelihoods, significant bias towards stereotypes (SS 62.0 [60.5, 63.5])",),
        *("intersentence by next-sentence scores, no bias beyond ±5 points (SS 50.0 [48.5, 51.5])",),
    )
    likelihoods = headline([replace(r, family="likelihood") for r in mixed()])
    assert "intrasentence" not in sentences_of(likelihoods)
    several = headline([r for language in ("en", "de", "fr", "es") for r in mixed(language)])
    assert several.lead.count("intrasentence and intersentence") == 1
    assert sum("next-sentence scores" in sentence for sentence in several.more) == 3


def test_an_uninterpretable_part_is_named_in_place_of_the_pooled_row() -> None:
    summary = headline(run(half_sensible_scores(ss=60.0, n=600)).records)
    assert_mentions(summary.lead, "towards stereotypes", "in English (intrasentence)")
    assert_mentions(summary.lead, "not interpretable in English (intersentence)")
    assert "not interpretable" in summary.lead.rpartition(";")[2]
    assert summary.lead.count("English") == 2


def test_too_many_ties_are_no_bias_against_stereotypes() -> None:
    summary = headline(run(chosen_scores(ss=50.0, n=400, ties=30.0)).records)
    assert_mentions(summary.lead, "not interpretable")
    assert_mentions(sentences_of(summary), "240 of 800 items", "ties")


def test_one_model_in_several_languages() -> None:
    summary = headline(
        [
            *association(part="overall"),
            *association(part="overall", language="de", ss=50.1, half=1.5),
            *association(part="overall", language="tr", ss=38.0, lms=51.0),
            *association(part="overall", language="es", ss=40.0),
        ]
    )
    assert_mentions(
        summary.lead, "towards stereotypes", "5 points in English", "5 points in Spanish", "5 points in German"
    )
    assert_mentions(summary.lead, "not interpretable in Turkish")
    (largest,) = (sentence for sentence in summary.more if sentence.startswith("The largest"))
    assert "gpt2 in Spanish" in largest  # Turkish would be farther, but means nothing
    assert summary.tone == "doubt"


def test_the_largest_bias_may_be_that_of_a_part() -> None:
    records = [*association(ss=62.0), *association(ss=54.0, part="intersentence"), *association(part="overall")]
    many = [*records, *association(ss=57.0, part="overall", language="de")]
    (largest,) = (sentence for sentence in headline(many).more if sentence.startswith("The largest"))
    assert "English (intrasentence)" in largest
    assert "62.0%" in largest


def test_several_models() -> None:
    records = [
        *association(part="overall"),
        *association(part="overall", model="bert", ss=50.0, half=1.5),
        *association(part="overall", model="t5", ss=40.0),
    ]
    lead = headline(records).lead
    assert_mentions(
        lead, "Of 3 models:", "towards stereotypes, 1 no", "points and 1 significant", "against stereotypes."
    )
    both = headline(association(part="overall") + association(part="overall", model="t5")).lead
    assert_mentions(both, "Both models: significant", "towards stereotypes.")


def test_many_tests_are_corrected_for() -> None:
    alone = headline(association(ss=52.0, half=1.9, part="overall"))
    assert "significant" in alone.lead
    languages = ("de", "en", "es", "fr", "tr")
    many = [r for language in languages for r in association(ss=52.0, half=1.9, part="overall", language=language)]
    assert "significant" not in sentences_of(headline(many, WHOLE_RUN))


def test_a_sample_is_named_first() -> None:
    (summary,) = build_headlines(build_rows(assign_verdicts(association())), ["A sample: 10 of 20."])
    assert summary.more[0] == "A sample: 10 of 20."


def test_gest_headlines_say_whether_the_bias_generalizes() -> None:
    alike = headline(run(gest_scores(lean=1.0, n=800), family="gest").records)
    assert any("also significant for stereotypes" in sentence for sentence in alike.more)
    table = gest_scores(lean=1.0, n=800)
    spread = table["stereotype"].map({number: 2.0 * (-1) ** number for number in range(1, 17)})
    unlike = headline(run(table.assign(score=table["score"] + spread), family="gest").records)
    assert_mentions(unlike.lead, "significant bias towards stereotypes")
    assert any("only for these stereotypes" in sentence for sentence in unlike.more)


def with_lengths(ss_shorter: float, ss_longer: float, shorter: int, longer: int) -> pd.DataFrame:
    """Items whose stereotype is the shorter candidate, and items whose stereotype is the longer one."""
    tables = [
        chosen_scores(ss=ss, n=n, parts=["intersentence"]).assign(length_difference=difference)
        for ss, n, difference in ((ss_shorter, shorter, -2), (ss_longer, longer, 3))
    ]
    tables[1]["item"] = tables[1]["item"] + "-longer"
    return pd.concat(tables)


def test_where_length_makes_the_difference_that_is_told() -> None:
    summary = headline(run(with_lengths(70.0, 30.0, 900, 300)).records)
    assert "significant bias towards stereotypes" in summary.lead
    (control,) = (sentence for sentence in summary.more if "SS balanced by length" in sentence)
    assert_mentions(control, "balanced by length 50.0 [", "known confound")


def test_where_length_makes_no_difference_nothing_is_told_of_it() -> None:
    summary = headline(run(with_lengths(62.0, 62.0, 900, 300)).records)
    assert "significant bias towards stereotypes" in summary.lead
    assert "length" not in sentences_of(summary)


@pytest.mark.parametrize(("shares", "reported"), [((38, 12, 40, 34, 39, 13), True), ((30, 29, 30, 30, 29, 30), False)])
def test_where_templates_differ_by_more_than_the_margin_that_is_told(shares: tuple[int, ...], reported: bool) -> None:
    sentences = [sentence for sentence in headline(of_pairs(list(shares))).more if "template" in sentence]
    assert len(sentences) == reported
    for sentence in sentences:
        assert_mentions(sentence, "In English", "known confound", "CPS differs by", "margin of 5 points.")
    (row,) = build_rows(of_pairs(list(shares)))
    assert ("between templates" in describe_verdict(row)) == reported


def test_of_gest_the_spread_over_templates_is_told_unless_they_contradict_each_other() -> None:
    summary = headline(of_gest([0.3, 1.1]))
    (sentence,) = (sentence for sentence in summary.more if "between templates" in sentence)
    assert_mentions(sentence, "In English", "known confound", "g_s differs by", "a factor of 1.22.")
    contradictory = headline(of_gest([-0.6, 0.6]))
    assert_mentions(sentences_of(contradictory), "(template-2 towards stereotypes", "template-1 against)")
    assert "known confound" not in sentences_of(contradictory)
    assert "known confound" not in sentences_of(headline(of_gest([0.5, 0.5])))


def test_below_zero_is_towards_for_s_jsd_and_above_one_for_g_s() -> None:
    s_jsd = record("S_JSD x 1e3", -4.0, 0.5, benchmark="gender-pairs")
    g_s = record("g_s", 1.4, 0.1, benchmark="gest")
    assert [v.verdict.side for v in list_summary_verdicts(build_rows(assign_verdicts([s_jsd, g_s])))] == [
        "towards",
        "towards",
    ]
    uncertain = record("S_JSD x 1e3", -4.0, 4.5, benchmark="gender-pairs")
    assert [v.verdict.kind for v in list_summary_verdicts(build_rows(assign_verdicts([uncertain])))] == ["inconclusive"]


def test_parts_stand_aside_for_the_two_together() -> None:
    records = [
        *association(),
        *association(part="intersentence", protocol="published/c"),
        *association(part="overall", protocol="published + published/c"),
        *association(protocol="in-context"),
    ]
    assert [v.record.protocol for v in list_summary_verdicts(build_rows(assign_verdicts(records)))] == [
        "published + published/c",
        "in-context",
    ]


def test_without_a_number_that_could_show_a_bias_there_is_no_headline() -> None:
    assert build_headlines(build_rows([record("wit", 1.0)])) == []


def test_of_translations_it_is_told_how_masculine_they_are() -> None:
    """The headline reports how masculine translations are, regardless of stereotypes."""
    text = sentences_of(headline(translations(["A"], ["sk"]).records))
    assert_mentions(text, "masculine", "regardless of the stereotype", "(f_m")


def test_a_second_measure_of_the_same_bias_is_not_told_as_a_finding_of_its_own() -> None:
    """S_JSD is a companion of CPS about the same bias, so the headline has no sentence on it."""
    summary = headline([record("CPS", 52.0, 4.0), record("S_JSD x 1e3", -0.02, 0.8)])
    assert "S_JSD" not in sentences_of(summary)
