from dataclasses import replace

from tests.reports.test_terminal import association, record
from tiltmeter.measures.records import Record
from tiltmeter.reports.rows import all_rows
from tiltmeter.reports.words import Headline, headlines, verdicts


def headline(records: list[Record]) -> Headline:
    (found,) = headlines(all_rows(records))
    return found


def test_one_model_in_one_language() -> None:
    found = headline(association())
    assert found.lead == "gpt2 leans towards stereotypes in English (intrasentence), by more than noise."
    assert found.more == (
        "The stereotype was chosen in 58.2% of items (SS 58.2, 95% interval 55.1 to 61.3, n=2,106; 50 is no lean).",
    )
    assert found.side == "towards"


def test_one_model_in_several_languages() -> None:
    found = headline(
        [
            *association(part="overall"),
            *association(part="overall", language="de", ss=50.5, p=0.6),
            *association(part="overall", language="tr", ss=41.0, lms=51.0),
        ]
    )
    assert found.lead == (
        "gpt2 leans towards stereotypes in English and against stereotypes in Turkish, by more than noise."
    )
    assert found.more[0] == "In German, the items cannot tell a lean from noise."
    assert "gpt2 in Turkish" in found.more[1]
    assert found.more[2].startswith("In Turkish, LMS is no better than chance")


def test_no_lean() -> None:
    found = headline(association(p=0.4, part="overall", n=80))
    assert found.lead == "gpt2 shows no lean that 80 items could tell from noise in English."
    assert found.side == "none"


def test_several_models() -> None:
    records = [
        *association(part="overall"),
        *association(part="overall", model="bert", p=0.4),
        *association(part="overall", model="t5", ss=40.0),
    ]
    assert headline(records).lead == (
        "Of 3 models, 1 leans towards stereotypes by more than noise, 1 against and for 1 the items cannot tell a lean "
        "from noise."
    )
    assert headline(association(part="overall") + association(part="overall", model="t5")).lead == (
        "All 2 models lean towards stereotypes, by more than noise."
    )


def test_many_tests_find_something_by_chance() -> None:
    records = [r for place in range(6) for r in association(part="overall", model=str(place), p=0.04)]
    assert "one in twenty" in headline(records).more[-1]


def test_below_zero_is_towards_for_s_jsd_and_above_one_for_g_s() -> None:
    s_jsd = record("S_JSD x 1e3", -2.0, 0.5, ideal=0.0)
    g_s = record("g_s", 1.4, 0.1, ideal=1.0, benchmark="gest")
    assert [v.side for v in verdicts(all_rows([s_jsd, g_s]))] == ["towards", "towards"]
    assert [v.side for v in verdicts(all_rows([replace(s_jsd, p_value=0.3)]))] == ["none"]


def test_parts_stand_aside_for_the_two_together() -> None:
    records = [
        *association(),
        *association(part="intersentence", protocol="published/c"),
        *association(part="overall", protocol="published + published/c"),
        *association(protocol="in-context"),
    ]
    assert [v.record.protocol for v in verdicts(all_rows(records))] == ["published + published/c", "in-context"]


def test_without_a_number_that_leans_there_is_no_headline() -> None:
    assert headlines(all_rows([record("wit", 1.0)])) == []
