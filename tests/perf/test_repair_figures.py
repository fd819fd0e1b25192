"""The figures of `perf.repair` for synthetic items."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perf.repair import Outcome, Project, aligned_to_term, classify, draft, german_row, occurrences, outcomes
from tiltmeter.making.repair import repair_drafts
from tiltmeter.making.repair.repair_resources import align_project
from tiltmeter.translators.word_alignment import AlignedPair, Eflomal, tokenize_words

ENGLISH = {"id": "c", "part": "intrasentence", "target": "cook", "context": "The BLANK cook sang."}
TRANSLATED = ENGLISH | {"target_term": "Köchin", "context": "Der BLANK-Koch sang."}
RELEASED = TRANSLATED | {"target_term": "Koch", "context": "Der BLANK Koch sang."}


def with_candidates(values: Mapping[str, Any], word: str) -> dict[str, Any]:
    return {**values, "candidates": [{"role": "stereotype", "word": word, "sentence": "Der alte Koch sang."}]}


def project() -> Project:
    one = draft(with_candidates(ENGLISH, "old"), with_candidates(TRANSLATED, "alte"), "de")
    return Project("de", [one], {"c": "intrasentence"}, {"c": RELEASED})


class WordByWord(Eflomal):
    def align_pairs(self, pairs):  # type: ignore[no-untyped-def]
        aligned = []
        for source, target in pairs:
            links = frozenset((number, number) for number in range(len(tokenize_words(source))))
            aligned.append(AlignedPair(tuple(tokenize_words(source)), tuple(tokenize_words(target)), links, links))
        return aligned


def test_drafts_have_the_texts_by_role() -> None:
    (one,) = project().drafts
    assert one.source["candidates[0].word"] == "old"
    assert one.texts["candidates[0].word"] == "alte"
    assert one.filled["candidates[0].word"] == "Der alte Koch sang."


def test_agreement_with_the_released_terms() -> None:
    work = project()
    results = outcomes(work, repair_drafts(work.drafts, aligner=WordByWord(Path())))
    assert [result.terms[0] for result in results] == ["Koch"]
    row = german_row(work, results, "intrasentence")
    assert row == {"missing": 1, "proposed": 1, "kept": 1, "first": 1, "three": 1}
    assert german_row(work, results, "intersentence") == {}


def test_a_rule_settles_the_term() -> None:
    english = ENGLISH | {"target": "prisoner", "context": "The prisoner sang."}
    raw = TRANSLATED | {"target_term": "Häftling", "context": "Der Gefangene sang."}
    one = draft(with_candidates(english, "old"), with_candidates(raw, "alte"), "de")
    work = Project("de", [one], {"c": "intrasentence"}, {})
    (result,) = outcomes(work, repair_drafts(work.drafts))
    assert (result.terms, result.kind) == (("Häftling",), "changed")


def test_terms_that_are_aligned() -> None:
    work = project()
    there = Project("de", [one.replace_translation("target_term", "Koch") for one in work.drafts], work.part, {})
    assert aligned_to_term(there, align_project(there.drafts, WordByWord(Path())), "intrasentence") == (1, 1)
    assert aligned_to_term(work, align_project(work.drafts, WordByWord(Path())), "intrasentence") == (0, 0)


def test_classes_of_differences() -> None:
    (one,) = project().drafts
    assert classify(Outcome(one, ("Der",), "proposed"), RELEASED) == "another word of the same context"
    assert classify(Outcome(one, ("Der Koch",), "proposed"), RELEASED) == "one is a part of the other"
    rewritten = RELEASED | {"context": "Ein BLANK Koch sang."}
    assert classify(Outcome(one, ("Der",), "proposed"), rewritten) == "the authors rewrote the context"
    gone = RELEASED | {"target_term": "Küche"}
    assert classify(Outcome(one, ("Der",), "proposed"), gone) == "the released term is not in its released context"


def test_occurrences() -> None:
    assert list(occurrences("Koch und KOCH", "koch")) == [(0, 4), (9, 13)]
