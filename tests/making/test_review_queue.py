"""The queue in memory always equals a queue that is read again, whoever writes; and questions about items."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perf.breaking_engine import BreakingEngine
from perf.making_items import source_file
from perf.studio_review_list import add_proposals
from tests.making.test_review import BETTER, Clock, context_of, reviewing, with_rule
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.making.open_problems import AssembledItems, assemble_items
from tiltmeter.making.project import Project, create_project, open_project
from tiltmeter.making.project_settings import write_settings
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.review.indexed_item import IndexedItem
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_index import ReviewIndex
from tiltmeter.making.review.review_list import ReviewList
from tiltmeter.making.review.review_rule import ReviewVerdict
from tiltmeter.making.translation_step import translate_project

NAMES = ("Ana", "Eva", "Ida")
VERDICTS: tuple[ReviewVerdict, ...] = ("accept", "edit", "drop")


def do_something(review: Review, choice: random.Random) -> None:
    """One of the things that reviewers and commands do, which may be refused."""
    name, project = choice.choice(NAMES), review.project
    item = choice.choice([entry.item for entry in review.list_queue()])
    action = choice.randrange(9)
    try:
        if action < 4:
            verdict = choice.choice(VERDICTS)
            text = review.show_item(item, name).texts["context"].replace("hoy", choice.choice(("ayer", "nunca")))
            review.decide_on_item(name, item, verdict, texts={"context": text} if verdict == "edit" else {})
        elif action == 4:
            review.undo_decision(name)
        elif action == 5:
            review.settle_conflict(name, item, "drop")
        elif action == 6:
            review.take_next_item(name)
        elif action == 7:
            review.ask_question(name, item, "Which one?")
        else:
            with project.store.begin_transaction():
                text = f"el texto {choice.randrange(3)} BLANK."
                project.store.set_text(item, "text", "context", text, step="repair", by="x", why="")
    except UsageError:
        pass


@pytest.mark.parametrize(("agree", "of", "which"), [(1, 1, "open"), (2, 3, "open"), (2, 2, "all")])
def test_the_queue_in_memory_is_that_of_the_database(agree: int, of: int, which: str, tmp_path: Path) -> None:
    source = source_file(tmp_path / "source.jsonl", 6, 2)
    clock = Clock()
    with create_project(tmp_path / "es", source, language="es", system="apertium:eng-xyz") as project:
        translate_project(project, BreakingEngine(way="dropped"))
        with_rule(project, agree, of, which)
        write_settings(project.folder, project.settings)
        here = reviewing(project, *NAMES, clock=clock)
        choice = random.Random(f"{agree} {of}")
        with open_project(project.folder) as other:
            there = Review(other, held=60.0, clock=clock)
            for turn in range(150):
                do_something(choice.choice((here, there)), choice)
                clock.now += choice.randrange(20)
                with open_project(project.folder) as anew:
                    fresh = Review(anew, held=60.0, clock=clock)
                    assert here.count_states() == there.count_states() == fresh.count_states(), turn
                    wanted = [replace(entry, reasons=()) for entry in fresh.list_queue()]
                    for review in (here, there):
                        assert [replace(entry, reasons=()) for entry in review.list_queue()] == wanted, turn


def test_a_decision_from_before_a_step_is_in_the_queue_again_when_it_is_undone(translated: Project) -> None:
    reviewing(translated, "Ana").decide_on_item("Ana", "i0", "accept")
    repair_project(translated)
    review = reviewing(translated)
    assert "i0" not in {problem.item for problem in assemble_items(translated).problems}
    assert "i0" in {entry.item for entry in review.list_queue()}
    review.undo_decision("Ana")
    entry = next(entry for entry in review.list_queue() if entry.item == "i0")
    assert (entry.state, entry.reasons) == ("open", ("blank-restored",))


def test_what_is_rolled_back_is_not_remembered(translated: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    review = reviewing(translated, "Ana")
    with monkeypatch.context() as patched:
        patched.setattr(translated.store, "begin_transaction", lambda synced: FullDisk(translated))
        with raises_mentioning(OSError, "full"):
            review.decide_on_item("Ana", "i0", "edit", texts={"context": BETTER})
    assert review.count_states().reviewers == {"Ana": (0, 4)}
    assert context_of(translated) != BETTER
    shown = review.take_next_item("Ana")
    assert shown is not None
    assert shown.item == "i0"


class FullDisk:
    """A transaction that cannot be committed."""

    def __init__(self, project: Project) -> None:
        self._db = project.store._db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, *exc: object) -> None:
        self._db.execute("ROLLBACK")
        raise OSError("the disk is full")


def test_an_item_waits_for_the_answer_to_a_question(translated: Project) -> None:
    review = reviewing(with_rule(translated, 2, 2), "Ana", "Eva")
    with raises_mentioning(UsageError, "question about i0", "empty"):
        review.ask_question("Ana", "i0", " ")
    with raises_mentioning(UsageError, "no item 'i9'"):
        review.ask_question("Ana", "i9", "What?")
    review.ask_question("Ana", "i0", "Is this a dialect?")
    first = review.take_next_item("Ana"), review.take_next_item("Eva")
    assert [shown and shown.item for shown in first] == ["i1", "i0"]
    # Others do not see the question.
    assert review.show_item("i0", "Eva").questions == ()
    (asked,) = review.list_unanswered_questions()
    assert (asked.item, asked.reviewer, asked.question) == ("i0", "Ana", "Is this a dialect?")
    with raises_mentioning(UsageError, "answer is empty"):
        review.answer_question("Ida", asked.number, "")
    review.answer_question("Ida", asked.number, "Yes, of the north.")
    with raises_mentioning(UsageError, f"question {asked.number}", "answered"):
        review.answer_question("Ida", asked.number, "No.")
    again = review.take_next_item("Ana", skip=["i1"])
    assert again is not None
    assert (again.item, again.questions[0].answer, again.questions[0].answered_by) == (
        "i0",
        "Yes, of the north.",
        "Ida",
    )


def test_the_history_of_a_reviewer(translated: Project) -> None:
    review = reviewing(with_rule(translated, 2, 2), "Ana", "Eva")
    for item in ("i0", "i1", "i2"):
        review.decide_on_item("Ana", item, "accept")
    review.decide_on_item("Eva", "i3", "drop")
    review.undo_decision("Ana", "i1")
    assert [made.item for made in review.list_history("Ana")] == ["i2", "i0"]
    assert [made.item for made in review.list_history("Ana", limit=1)] == ["i2"]
    assert review.count_progress("Ana") == (2, 2)


def test_what_others_accept_is_not_to_be_seen(translated: Project) -> None:
    odd = {"context": "la persona era muy BLANK hoy."}
    review = reviewing(with_rule(translated, 2, 3), "Ana", "Eva", "Ida")
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", odd["context"], step="repair", by="x", why="")
    before = review.show_item("i0", "Ida"), review.check_texts("Ida", "i0", odd)
    assert [problem.reason for problem in before[1]] == ["target-not-in-context"]
    why = {"target-not-in-context": "as spoken"}
    review.decide_on_item("Ana", "i0", "accept", accepted=why)
    assert review.decide_on_item("Eva", "i0", "accept", accepted=why).state == "agreed"
    assert ("i0", "target-not-in-context") in translated.store.list_accepted_problems()
    assert (review.show_item("i0", "Ida"), review.check_texts("Ida", "i0", odd)) == before
    with raises_mentioning(UsageError, "i0", "with a reason"):
        review.decide_on_item("Ida", "i0", "accept")
    assert review.decide_on_item("Ida", "i0", "accept", accepted=why).state == "agreed"


def test_guidelines_outside_the_folder_are_not_read(translated: Project, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    translated.settings = replace(translated.settings, guidelines="../secret.txt")
    with raises_mentioning(UsageError, "../secret.txt", "outside"):
        translated.read_guidelines()


def test_a_review_opens_without_examining_all_items_again(translated: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problems after the last step are cached; another version of Tiltmeter, or another step, finds them again."""
    examined: list[str | None] = []

    def counted(project: Project, only: str | None = None, *, for_review: bool = False) -> AssembledItems:
        examined.append(only)
        return assemble_items(project, only, for_review=for_review)

    monkeypatch.setattr("tiltmeter.making.review.review_queue.assemble_items", counted)
    monkeypatch.setattr("tiltmeter.making.review.review_queue._MANY", 2)
    first = [entry.reasons for entry in Review(translated).list_queue()]
    assert examined == []
    assert first == [("blank-restored",)] * len(first)
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", "sin hueco.", step="repair", by="x", why="")
    changed = Review(translated).list_queue()[0]
    assert examined == ["i0"]
    assert "no-blank" in changed.reasons or "not-an-item" in changed.reasons
    examined.clear()
    monkeypatch.setattr("tiltmeter.making.review.stored_problems.__version__", "0.0.1")
    assert Review(translated).list_queue()[0] == changed
    assert examined == [None]
    Review(translated).list_queue()
    assert examined == [None]


def test_the_list_opens_without_reading_unchanged_items_again(
    translated: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index of many items is cached; only entries of changed items are built again."""
    built: list[str] = []
    build = ReviewIndex._index_item

    def counted(self: ReviewIndex, entry: ProjectItem, *values: Any) -> IndexedItem:
        built.append(entry.id)
        return build(self, entry, *values)

    def list_entries() -> list[IndexedItem]:
        built.clear()
        return ReviewList(Review(translated)).list_entries()

    monkeypatch.setattr(ReviewIndex, "_index_item", counted)
    monkeypatch.setattr("tiltmeter.making.review.review_index._MANY", 0)
    add_proposals(translated.folder)
    first = list_entries()
    assert built == [entry.item for entry in first] != []
    assert any(entry.changes for entry in first)
    assert list_entries() == first
    assert built == []
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", "otra BLANK.", step="repair", by="x", why="")
    changed = list_entries()
    assert built == ["i0"]
    assert changed != first
    translated.store.store_review_index("0.0.1", "{}")
    assert list_entries() == changed
    assert built == [entry.item for entry in changed]
