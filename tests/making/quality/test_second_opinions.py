"""Second opinions: a low similarity queues an item, the second text is a proposal, and the worst items come first."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import pytest

from perf.breaking_engine import BreakingEngine
from tests.making.quality.conftest import AddDictionary
from tests.support.command import Run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import StoredFinding
from tiltmeter.making.quality.second_opinions import BACK_TRANSLATION, SECOND_OPINION, compare_translations
from tiltmeter.making.review.review import Review
from tiltmeter.making.translation_step import translate_project
from tiltmeter.translators.translator_protocol import Price


@dataclass
class _OtherEngine(BreakingEngine):
    """A system that translates items about gardeners (i1, n1) into something else."""

    name: str = "other"

    @property
    def key(self) -> str:
        return "other"

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        made = super().translate(texts, language)
        return ["Una frase distinta." if "gardener" in text else own for text, own in zip(texts, made, strict=True)]


@dataclass
class _BackEngine(BreakingEngine):
    """A system that translates nothing correctly back, except the items about gardeners."""

    name: str = "back"
    source: str = "en"

    @property
    def key(self) -> str:
        return f"back from {self.source}"

    def with_source_language(self, language: str) -> "_BackEngine":
        other = copy(self)
        other.source = language
        return other

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        assert (self.source, language) == ("es", "en")
        self.sent += texts
        return [text if "jardinero" in text else "Xyz." for text in texts]


@pytest.fixture
def translated(project: Project, add_dictionary: AddDictionary) -> Project:
    add_dictionary("es_ES", "el era muy hoy es en")
    translate_project(project, BreakingEngine())
    return project


def findings(project: Project, rule: str) -> dict[str, list[StoredFinding]]:
    found: dict[str, list[StoredFinding]] = {}
    for stored in project.store.list_findings():
        if stored.finding.rule == rule:
            found.setdefault(stored.finding.item, []).append(stored)
    return found


def test_a_different_translation_is_queued_and_proposed(translated: Project) -> None:
    done = compare_translations(translated, second=_OtherEngine())
    assert (done.items, done.queued) == (6, 1)
    assert 0 < done.similarity["second"] < 1
    queued = findings(translated, SECOND_OPINION)
    assert queued.keys() == {"n1"}
    assert {stored.finding.field for stored in queued["n1"]} == {"context"}
    (context,) = (stored.finding for stored in queued["n1"] if stored.finding.field == "context")
    assert (context.kind, context.proposals) == ("proposed", ("Una frase distinta.",))
    same = {one.item: one.similarity for one in translated.store.list_second_opinions()}
    assert same["i0"] == 1.0
    assert 0.4 < same["n1"] < 0.8


def test_a_text_that_lost_its_blank_is_not_proposed(translated: Project) -> None:
    compare_translations(translated, second=_OtherEngine(), threshold=0.99)
    assert {stored.finding.field for stored in findings(translated, SECOND_OPINION)["i1"]} == {"target_term"}


def test_translation_back(translated: Project) -> None:
    done = compare_translations(translated, back=_BackEngine(), threshold=0.3)
    assert done.similarity.keys() == {"back"}
    queued = findings(translated, BACK_TRANSLATION)
    assert "context" in {stored.finding.field for stored in queued["n0"]}
    assert "context" not in {stored.finding.field for stored in queued["n1"]}
    (finding, *_) = (stored.finding for stored in queued["n0"])
    assert (finding.kind, finding.proposals) == ("open", ())
    assert_mentions(finding.reason, "back", "'Xyz.'")


def test_the_findings_of_both_methods_are_kept(translated: Project) -> None:
    compare_translations(translated, second=_OtherEngine())
    compare_translations(translated, back=_BackEngine())
    assert findings(translated, SECOND_OPINION).keys() == {"n1"}
    assert findings(translated, BACK_TRANSLATION)


def test_the_queue_begins_with_the_worst_item(translated: Project) -> None:
    compare_translations(translated, second=_OtherEngine(), threshold=0.99)
    review = Review(translated)
    review.add_reviewer("Ana")
    queue = [(entry.item, entry.quality) for entry in review.list_queue()]
    assert queue == sorted(queue, key=lambda entry: entry[1])
    assert {item for item, _ in queue} == {"i1", "n1"}
    first = review.take_next_item("Ana")
    assert first is not None
    assert first.item == queue[0][0]
    problems = [one for one in review.show_item("n1", "Ana").problems if one.reason == SECOND_OPINION]
    review.decide_on_item("Ana", "n1", "edit", proposals={problem.field: 1 for problem in problems})
    assert translated.store.list_texts("text", "n1")["n1"]["context"] == "Una frase distinta."


def test_items_with_a_decision_are_left_alone(translated: Project) -> None:
    review = Review(translated)
    review.add_reviewer("Ana")
    compare_translations(translated, second=_OtherEngine())
    review.decide_on_item("Ana", "n1", "accept")
    assert compare_translations(translated, second=_OtherEngine(), threshold=0.0).items == 5


def test_a_paid_service_needs_consent(translated: Project) -> None:
    paid = _OtherEngine(price=Price(20.0, "USD", "a list"))
    with raises_mentioning(UsageError, "USD", "--yes"):
        compare_translations(translated, second=paid)
    assert not paid.sent
    assert compare_translations(translated, second=paid, yes=True).items == 6


def test_what_is_missing(project: Project, run: Run) -> None:
    with raises_mentioning(UsageError, "--second", "--back"):
        compare_translations(project)
    with raises_mentioning(UsageError, "threshold", "from 0 to 1"):
        compare_translations(project, second=_OtherEngine(), threshold=40)
    with raises_mentioning(UsageError, "make translate"):
        compare_translations(project, second=_OtherEngine())
    message = run("make", "second", str(project.folder), "--second", project.settings.system, code=2)
    assert_mentions(message, "choose another one")
