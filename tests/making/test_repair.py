"""The steps together."""

import itertools

import pytest

from tests.making.drafts import WORD, draft
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.making.draft import count_findings
from tiltmeter.making.repair import STEPS, repair_drafts
from tiltmeter.making.repair.rule_precision import ALL_PROVEN, RulePrecision
from tiltmeter.translators.word_alignment import AlignedPair, Eflomal, find_aligner


def test_steps_build_on_each_other() -> None:
    one = draft(
        "Die  BLANK-Gärtnerin sang .", source="The BLANK gardener sang.", filled="Die geduldige Gärtnerin sang."
    )
    repaired = repair_drafts([one], precision=ALL_PROVEN)
    assert repaired.drafts[0].texts == {
        "target_term": "Gärtner",
        "context": "Die BLANK Gärtnerin sang.",
        WORD: "geduldige",
    }
    assert count_findings(repaired.findings) == {
        ("dash-at-blank", "changed"): 1,
        ("spaces", "changed"): 1,
        ("space-before-punctuation", "changed"): 1,
        ("agreement", "changed"): 1,
    }
    assert (repaired.aligner, repaired.pairs) == ("", 0)
    assert [(step.step, len(step.findings)) for step in repaired.steps if step.findings] == [
        ("spacing", 3),
        ("agreement", 1),
    ]
    assert repair_drafts(repaired.drafts, precision=ALL_PROVEN).findings == [], "repairing again changes nothing"


def test_changes_of_unproven_rules_are_proposals() -> None:
    one = draft("Die  BLANK-Gärtnerin sang .", source="The BLANK gardener sang.", term=("gardener", "Gärtnerin"))
    proven = {"spaces": RulePrecision("spaces", 100, 98), "dash-at-blank": RulePrecision("dash-at-blank", 100, 97)}
    repaired = repair_drafts([one], precision=proven)
    assert repaired.drafts[0].texts["context"] == "Die BLANK-Gärtnerin sang ."
    assert [(finding.rule, finding.kind, finding.proposals) for finding in repaired.findings] == [
        ("dash-at-blank", "proposed", ("Die BLANK Gärtnerin sang .",)),
        ("spaces", "changed", ("Die BLANK-Gärtnerin sang .",)),
        ("space-before-punctuation", "proposed", ("Die BLANK-Gärtnerin sang.",)),
    ]
    assert all(finding.before == "Die BLANK-Gärtnerin sang ." for finding in repaired.findings[::2])


def test_the_packaged_precision_is_the_default() -> None:
    (finding,) = repair_drafts([draft("Der BLANK-Gärtner sang.")], steps=["spacing"]).findings
    assert (finding.rule, finding.kind) == ("dash-at-blank", "changed")
    (finding,) = repair_drafts([draft("Der BLANK-Gärtner sang.", language="ia")], steps=["spacing"]).findings
    assert (finding.rule, finding.kind) == ("dash-at-blank", "proposed")


def test_steps_can_be_chosen() -> None:
    one = draft("Der BLANK-Chef sang .")
    assert {finding.rule for finding in repair_drafts([one], steps=["target"]).findings} == {"target-not-in-context"}
    with raises_mentioning(UsageError, "'targets'", "synonyms, target"):
        repair_drafts([one], steps=["targets"])
    assert repair_drafts([]).findings == []


def test_proposals_change_nothing() -> None:
    one = draft("Der Chef war BLANK.")
    repaired = repair_drafts([one])
    assert repaired.drafts == [one]
    assert [finding.kind for finding in repaired.findings if finding.kind == "changed"] == []


def test_a_term_waits_for_the_context_that_is_proposed() -> None:
    mover = ("mover", "Möbelpacker")
    one = draft("Das BLANK Umzugsunternehmen kam.", source="The BLANK mover came.", term=mover)
    (finding,) = repair_drafts([one], steps=["synonyms", "target"]).findings
    assert (finding.rule, finding.kind, finding.field) == ("synonym", "proposed", "context")
    assert finding.proposals == ("Der BLANK Möbelpacker kam.", "Den BLANK Möbelpacker kam.")


class OneAlignment(Eflomal):
    """Counts how often sentences are aligned; aligns nothing."""

    calls = 0

    def align_pairs(self, pairs):  # type: ignore[no-untyped-def]
        type(self).calls += 1
        return [AlignedPair((), ()) for _ in pairs]


def test_sentences_are_aligned_once(tmp_path) -> None:  # type: ignore[no-untyped-def]
    aligner = OneAlignment(tmp_path)
    drafts = [draft("Der Chef war BLANK.", item=str(number), filled="Der Chef war da.") for number in range(3)]
    repaired = repair_drafts(drafts, aligner=aligner)
    assert (OneAlignment.calls, repaired.aligner, repaired.pairs) == (1, "eflomal", 6)
    repair_drafts(drafts, aligner=aligner, steps=[step for step in STEPS if step not in ("agreement", "target")])
    assert OneAlignment.calls == 1


def test_a_term_that_alignment_alone_can_find() -> None:
    """The short form of perf/repair.py, with made sentences."""
    aligner = find_aligner()
    if aligner is None:
        pytest.skip("eflomal is not installed: pip install 'tiltmeter[align]'")
    nouns = {"cook": "Koch", "gardener": "Gärtner", "sailor": "Matrose", "painter": "Maler", "prisoner": "Gefangene"}
    verbs = {"sang": "sang", "slept": "schlief", "danced": "tanzte", "laughed": "lachte", "waited": "wartete"}
    times = {"today": "heute", "yesterday": "gestern", "often": "oft", "early": "früh"}
    drafts = [
        draft(
            f"{times[time].capitalize()} {verbs[verb]} der BLANK {nouns[noun]}.",
            source=f"{time.capitalize()} the BLANK {noun} {verb}.",
            term=(noun, "Häftling" if noun == "prisoner" else nouns[noun]),
            item=f"{noun} {verb} {time}",
        )
        for noun, verb, time in itertools.product(nouns, verbs, times)
    ]
    repaired = repair_drafts(drafts, aligner=aligner, steps=["target"])
    assert {finding.item.split()[0] for finding in repaired.findings} == {"prisoner"}
    proposed = [finding.proposals[:1] == ("Gefangene",) for finding in repaired.findings]
    assert len(proposed) == len(verbs) * len(times)
    assert sum(proposed) >= 0.8 * len(proposed)
    assert {finding.kind for finding in repaired.findings} <= {"proposed", "open"}, "too few sentences to be sure"
    chosen = repair_drafts(drafts, aligner=aligner, steps=["synonyms", "target"])
    assert count_findings(chosen.findings) == {("synonym", "changed"): len(proposed)}
