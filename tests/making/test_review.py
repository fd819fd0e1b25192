"""The review: blind decisions by k of n, reservations, undo, conflicts, adjudication, agreement and publication."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.making.exchange import build_export_rows, csv_table, import_project
from tiltmeter.making.open_problems import assemble_items
from tiltmeter.making.project import DATABASE, Project, open_project
from tiltmeter.making.project_settings import write_settings
from tiltmeter.making.publication import publish_project
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.review.review import OwnConflictError, Review
from tiltmeter.making.review.review_outcomes import DROPPED, list_drop_reasons
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewRule, ReviewVerdict, settle_decisions
from tiltmeter.making.review.review_status import compute_decision_agreement, summarise_review

CONTEXT = "el cocinero era muy BLANK hoy number0."
BETTER = "el cocinero fue muy BLANK hoy number0."


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def with_rule(project: Project, agree: int, of: int, review: str = "open") -> Project:
    project.settings = replace(project.settings, agreeing=agree, reviewers_per_item=of, review=review)
    return project


def reviewing(project: Project, *names: str, clock: Clock | None = None) -> Review:
    review = Review(project, held=60.0, clock=clock or Clock())
    for name in names:
        review.add_reviewer(name)
    return review


@contextmanager
def with_own_conflicts(project: Project) -> Iterator[None]:
    """Allow people to settle conflicts that they are part of."""
    before, project.settings = project.settings, replace(project.settings, settle_own_conflicts=True)
    yield
    project.settings = before


def context_of(project: Project, item: str = "i0") -> str:
    return project.store.list_texts("text", item)[item]["context"]


# The rule


def decision(verdict: ReviewVerdict, reviewer: str = "", item: str = "a", **texts: str) -> ReviewDecision:
    return ReviewDecision(item, reviewer, verdict, texts)


@pytest.mark.parametrize(
    ("verdicts", "agree", "of", "state"),
    [
        ("", 1, 1, "open"),
        ("a", 1, 1, "agreed"),
        ("ad", 1, 1, "conflict"),
        ("a", 2, 2, "open"),
        ("aa", 2, 2, "agreed"),
        ("ad", 2, 2, "conflict"),
        ("ad", 2, 3, "open"),
        ("add", 2, 3, "agreed"),
        ("aadd", 2, 3, "conflict"),
        ("aaadd", 3, 5, "agreed"),
        ("aadd", 3, 5, "open"),
        ("aadde", 3, 5, "conflict"),
        ("ade", 3, 5, "open"),
        ("adea", 4, 5, "conflict"),
    ],
)
def test_k_of_n(verdicts: str, agree: int, of: int, state: str) -> None:
    made = {"a": decision("accept", x="old"), "d": decision("drop"), "e": decision("edit", x="new")}
    assert settle_decisions([made[letter] for letter in verdicts], ReviewRule(agree, of)).state == state


def test_edits_agree_only_if_their_texts_do() -> None:
    assert settle_decisions([decision("edit", x="a"), decision("edit", x="b")], ReviewRule(2, 2)).state == "conflict"
    # An edit back to the old text is the same as accepting it.
    assert settle_decisions([decision("edit", x="a"), decision("accept", x="a")], ReviewRule(2, 2)).state == "agreed"


def test_an_impossible_rule() -> None:
    with raises_mentioning(UsageError, "`agreeing`", "is 4", "(3)"):
        ReviewRule(4, 3)


# Deciding


def test_the_queue_has_what_is_open(translated: Project) -> None:
    review = reviewing(translated, "Ana")
    assert [(entry.item, entry.state, entry.reasons) for entry in review.list_queue()] == [
        (item, "open", ("blank-restored",)) for item in ("i0", "i1", "i2", "i3")
    ]
    everything = reviewing(with_rule(translated, 1, 1, "all"))
    assert [entry.item for entry in everything.list_queue()] == ["i0", "i1", "i2", "i3", "n0", "n1"]
    assert {problem.reason for problem in assemble_items(translated).problems} == {"blank-restored", "not-reviewed"}


def test_an_item_shows_sources_texts_and_proposals(translated: Project) -> None:
    shown = reviewing(translated, "Ana").take_next_item("ana")
    assert shown is not None
    assert (shown.item, shown.subject) == ("i0", "cook")
    assert shown.source["context"] == "The cook was very BLANK today number0."
    assert shown.texts["context"] == CONTEXT
    (problem,) = shown.problems
    assert (problem.reason, problem.kind, problem.field, problem.proposals) == (
        "blank-restored",
        "proposed",
        "context",
        (CONTEXT,),
    )


def test_a_decision_is_applied_and_can_be_undone(translated: Project) -> None:
    review = reviewing(translated, "Ana")
    before = translated.store.get_item("i0")
    outcome = review.decide_on_item("Ana", "i0", "edit", texts={"context": BETTER}, comment="tense")
    assert outcome.state == "agreed"
    assert context_of(translated) == BETTER
    assert translated.store.get_item("i0").stage == "reviewed"
    assert "i0" not in {problem.item for problem in assemble_items(translated).problems}
    entry = translated.store.list_history("i0")[-1]
    assert (entry.step, entry.by, entry.why, entry.before, entry.after) == ("review", "Ana", "agreed", CONTEXT, BETTER)
    assert review.undo_decision("Ana").item == "i0"
    assert context_of(translated) == CONTEXT
    assert translated.store.get_item("i0").stage == before.stage
    assert "i0" in {problem.item for problem in assemble_items(translated).problems}
    assert len(list(translated.store.list_decisions("i0", undone=True))) == 1
    with raises_mentioning(UsageError, "Ana has no decision"):
        review.undo_decision("Ana")


def test_drop_and_undo(translated: Project) -> None:
    review = reviewing(translated, "Ana")
    review.decide_on_item("Ana", "i0", "drop", comment="not a stereotype here")
    assert translated.store.get_item("i0").dropped == DROPPED
    assert list_drop_reasons(translated) == {"i0": "not a stereotype here"}
    review.undo_decision("Ana", "i0")
    assert translated.store.get_item("i0").dropped is None


def test_a_proposal_is_chosen_by_number(translated: Project) -> None:
    review = reviewing(translated, "Ana")
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", "el BLANK.", step="repair", by="x", why="")
    review.decide_on_item("Ana", "i0", "edit", proposals={"context": 1})
    assert context_of(translated) == CONTEXT
    with raises_mentioning(UsageError, "proposal 2 for context", "has 1"):
        review.decide_on_item("Ana", "i0", "edit", proposals={"context": 2})


def test_what_cannot_be_decided(translated: Project) -> None:
    review = reviewing(translated, "Ana")
    for texts, part in (
        ({"verse": "a"}, "no text 'verse'"),
        ({"context": "  "}, "of i0 is empty"),
        ({"context": "sin hueco"}, "BLANK 0 times"),
    ):
        with raises_mentioning(UsageError, "i0", part):
            review.decide_on_item("Ana", "i0", "edit", texts=texts)
    with raises_mentioning(UsageError, "'Bob' is not", "--add-reviewer"):
        review.decide_on_item("Bob", "i0", "accept")
    with raises_mentioning(UsageError, "no item 'i9'"):
        review.decide_on_item("Ana", "i9", "accept")
    with raises_mentioning(UsageError, "i0", "the verdict `edit`"):
        review.decide_on_item("Ana", "i0", "accept", texts={"context": BETTER})
    assert list(translated.store.list_decisions(undone=True)) == []


def test_a_warning_is_accepted_with_name_and_reason(translated: Project) -> None:
    review = reviewing(translated, "Ana")
    odd = {"context": "la persona era muy BLANK hoy."}
    with raises_mentioning(UsageError, "i0", "the warning target-not-in-context"):
        review.decide_on_item("Ana", "i0", "edit", texts=odd)
    with raises_mentioning(UsageError, "reason", "target-not-in-context of the item i0", "missing"):
        review.decide_on_item("Ana", "i0", "edit", texts=odd, accepted={"target-not-in-context": " "})
    review.decide_on_item("Ana", "i0", "edit", texts=odd, accepted={"target-not-in-context": "as spoken"})
    ((finding, by, why),) = assemble_items(translated).accepted
    assert (finding.item, finding.code, by, why) == ("i0", "target-not-in-context", "Ana", "as spoken")
    review.undo_decision("Ana")
    assert translated.store.list_accepted_problems() == {}


def test_nobody_decides_on_a_text_that_changed_meanwhile(translated: Project) -> None:
    review = reviewing(translated, "Ana", "Eva")
    shown = review.take_next_item("Ana")
    assert shown is not None
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", BETTER, step="repair", by="x", why="")
    with raises_mentioning(UsageError, "i0 has changed"):
        review.decide_on_item("Ana", "i0", "accept", shown=shown.shown)
    # A decision on the earlier text no longer counts, and is kept.
    review.decide_on_item("Ana", "i0", "accept")
    review.undo_decision("Ana")
    with_rule(translated, 2, 2)
    review = reviewing(translated)
    review.decide_on_item("Ana", "i0", "accept")
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", CONTEXT, step="repair", by="x", why="")
    assert next(entry for entry in review.list_queue() if entry.item == "i0").decisions == 0
    assert review.count_states().reviewers["Ana"] == (0, 4)
    assert len(list(translated.store.list_decisions("i0"))) == 1


# Several reviewers


def test_two_of_three_blind(translated: Project) -> None:
    review = reviewing(with_rule(translated, 2, 3), "Ana", "Eva", "Ida")
    assert review.decide_on_item("Ana", "i0", "edit", texts={"context": BETTER}).state == "open"
    assert context_of(translated) == CONTEXT
    with raises_mentioning(UsageError, "Eva", "not decided on i0"):
        review.reveal_other_decisions("i0", "Eva")
    assert review.show_item("i0", "Eva").decided is None
    assert review.decide_on_item("Eva", "i0", "edit", texts={"context": BETTER}).state == "agreed"
    assert context_of(translated) == BETTER
    assert translated.store.list_history("i0")[-1].by == "Ana, Eva"
    # The third reviewer sees the item as it was, and is still asked.
    third = review.take_next_item("Ida")
    assert third is not None
    assert third.texts["context"] == CONTEXT
    assert [problem.reason for problem in third.problems] == ["blank-restored"]
    assert review.decide_on_item("Ida", "i0", "drop").state == "agreed"
    assert context_of(translated) == BETTER
    assert [(other.reviewer, other.verdict) for other in review.reveal_other_decisions("i0", "Ida")] == [
        ("Ana", "edit"),
        ("Eva", "edit"),
    ]


def test_a_reviewer_is_not_given_an_item_twice(translated: Project) -> None:
    review = reviewing(with_rule(translated, 2, 2), "Ana", "Eva")
    given = []
    while shown := review.take_next_item("Ana"):
        given.append(shown.item)
        review.decide_on_item("Ana", shown.item, "accept")
    assert given == ["i0", "i1", "i2", "i3"]
    assert review.count_states().reviewers == {"Ana": (4, 0), "Eva": (0, 4)}


def test_a_reservation_expires(translated: Project) -> None:
    clock = Clock()
    review = reviewing(translated, "Ana", "Eva", clock=clock)

    def next_of(name: str) -> str | None:
        shown = review.take_next_item(name)
        return shown and shown.item

    assert (next_of("Ana"), next_of("Eva"), next_of("Ana")) == ("i0", "i1", "i0")
    clock.now += 61
    assert next_of("Eva") == "i0"
    clock.now += 61
    assert next_of("Ana") == "i0"
    shown = review.take_next_item("Ana", skip={"i0"})
    assert shown is not None
    assert shown.item == "i1"


def test_a_slot_for_each_reviewer_asked(translated: Project) -> None:
    review = reviewing(with_rule(translated, 2, 2), "Ana", "Eva", "Ida")
    items = [shown.item for name in ("Ana", "Eva", "Ida") if (shown := review.take_next_item(name))]
    assert items == ["i0", "i0", "i1"]


def test_two_decide_at_once_on_one_item(translated: Project) -> None:
    reviewing(translated, "Ana", "Eva")
    with open_project(translated.folder) as other:
        shown = Review(translated).show_item("i0", "Ana"), Review(other).show_item("i0", "Eva")
        assert Review(translated).decide_on_item("Ana", "i0", "accept", shown=shown[0].shown).state == "agreed"
        assert Review(other).decide_on_item("Eva", "i0", "drop", shown=shown[1].shown).state == "conflict"
    assert [made.reviewer for made in translated.store.list_decisions("i0")] == ["Ana", "Eva"]
    assert translated.store.get_item("i0").dropped is None
    (conflict,) = Review(translated).list_conflicts()
    assert [(made.reviewer, made.verdict) for made in conflict.decisions] == [("Ana", "accept"), ("Eva", "drop")]
    assert ("i0", "review-conflict") in {
        (problem.item, problem.reason) for problem in assemble_items(translated).problems
    }


def test_adjudication(translated: Project) -> None:
    review = reviewing(with_rule(translated, 2, 2), "Ana", "Eva", "Ida")
    with raises_mentioning(UsageError, "i0", "nothing to adjudicate"):
        review.settle_conflict("Ida", "i0", "drop")
    review.decide_on_item("Ana", "i0", "edit", texts={"context": BETTER})
    review.decide_on_item("Eva", "i0", "drop")
    assert context_of(translated) == CONTEXT
    with raises_mentioning(UsageError, "Bob", "not decided on i0"):
        review.settle_conflict("Ida", "i0", take="Bob")
    assert review.settle_conflict("Ida", "i0", take="Ana", comment="right tense").state == "adjudicated"
    assert context_of(translated) == BETTER
    assert assemble_items(translated).problems
    assert review.list_conflicts() == []
    review.undo_decision("Ida")
    assert context_of(translated) == CONTEXT
    assert len(review.list_conflicts()) == 1


def test_repair_leaves_decided_items_alone(translated: Project) -> None:
    review = reviewing(with_rule(translated, 2, 2), "Ana")
    review.decide_on_item("Ana", "i0", "accept")
    repair_project(translated)
    stages = {item.id: item.stage for item in translated.store.list_items()}
    assert stages["i0"] == "translated"
    assert stages["i1"] == "repaired"
    assert next(entry for entry in review.list_queue() if entry.item == "i0").decisions == 1


def test_sheets_of_two_reviewers_are_decisions_of_both(translated: Project, tmp_path: Path) -> None:
    with_rule(translated, 2, 2)
    ana, eva = tmp_path / "ana.csv", tmp_path / "eva.csv"
    rows = [row for row in build_export_rows(translated) if row.item in ("i0", "i1")]
    edited = [replace(row, corrected=BETTER) if (row.item, row.field) == ("i0", "context") else row for row in rows]
    csv_table.write([replace(row, decision="accept") for row in edited], ana, source="en", language="es")
    csv_table.write([replace(row, decision="accept") for row in rows], eva, source="en", language="es")
    assert import_project(translated, ana, format="csv", reviewer="Ana").conflicts == []
    assert context_of(translated) == CONTEXT
    assert import_project(translated, eva, format="csv", reviewer="Eva").conflicts == []
    states = {entry.item: (entry.state, entry.decisions) for entry in Review(translated).list_queue()}
    assert states == {"i0": ("conflict", 2), "i1": ("agreed", 2), "i2": ("open", 0), "i3": ("open", 0)}
    reviewing(translated, "Ida").settle_conflict("Ida", "i0", take="Ana")
    assert context_of(translated) == BETTER
    # A sheet that is exported now still has the texts as they were before the review.
    assert {row.translation for row in build_export_rows(translated, everything=True) if row.item == "i0"} >= {CONTEXT}


# Agreement


def test_agreement_counts_blind_decisions_only(translated: Project) -> None:
    review = reviewing(with_rule(translated, 2, 2), "Ana", "Eva", "Ida")
    for item, one, other in (("i0", "accept", "accept"), ("i1", "drop", "drop"), ("i2", "accept", "drop")):
        review.decide_on_item("Ana", item, one)  # type: ignore[arg-type]
        review.decide_on_item("Eva", item, other)  # type: ignore[arg-type]
    review.reveal_other_decisions("i2", "Eva")
    review.decide_on_item("Eva", "i2", "accept")  # after having seen what Ana decided
    review.decide_on_item("Ana", "i3", "drop")
    review.undo_decision("Ana")  # a slip
    review.decide_on_item("Ana", "i3", "accept")
    review.decide_on_item("Eva", "i3", "accept")
    summary = summarise_review(translated)
    assert summary is not None
    kappa = summary.agreement.pairs["Ana", "Eva"]
    assert (kappa.items, kappa.observed, kappa.value) == (4, 0.75, 0.5)
    assert summary.agreement.same == 0.75
    assert summary.progress.states == {"open": 0, "agreed": 4, "conflict": 0, "adjudicated": 0}
    json.dumps(summary.to_json())


def test_same_verdicts_with_other_texts() -> None:
    made = [
        decision("edit", "Ana", "a", x="1"),
        decision("edit", "Eva", "a", x="2"),
        decision("drop", "Ana", "b"),
        decision("drop", "Eva", "b"),
    ]
    found = compute_decision_agreement(made)
    assert (found.together.value, found.same) == (1.0, 0.5)


# The command line


def saved(project: Project) -> str:
    write_settings(project.folder, project.settings)
    return str(project.folder)


def test_review_from_the_command_line(translated: Project, run: Run, tmp_path: Path) -> None:
    (translated.folder / "guidelines.md").write_text("Keep the register.\n", encoding="utf-8")
    with_rule(translated, 2, 2)
    translated.settings = replace(translated.settings, guidelines="guidelines.md", licence="CC0-1.0")
    folder = saved(translated)
    assert run("make", "review", folder, "--add-reviewer", "Ana", "--add-reviewer", "Eva").splitlines()[0] == (
        "i0\topen\t0 of 2\t0.80\tcook\tblank-restored"
    )
    assert run("make", "review", folder, "--guidelines") == "Keep the register.\n"
    shown = run("make", "review", folder, "--by", "Ana")
    assert "1. " + CONTEXT in shown
    decide = ("make", "review", folder, "--item", "i0", "--by")
    assert run(*decide, "Ana", "--decision", "edit", "--text", f"context={BETTER}") == "i0: open\n"
    assert "has not decided on i0" in run(*decide, "Eva", "--others", code=2)
    assert run(*decide, "Eva", "--decision", "drop", "--comment", "odd") == "i0: conflict\n"
    assert "Ana: edit" in run(*decide, "Eva", "--others")
    assert json.loads(run("make", "review", folder, "--by", "Eva", "--json"))["item"] == "i1"
    conflicts = run("make", "adjudicate", folder)
    assert f'Ana: edit {{"context": "{BETTER}"}}' in conflicts
    assert "Eva: drop  odd" in conflicts
    assert run("make", "adjudicate", folder, "--by", "Ida", "--item", "i0", "--take", "ana") == "i0: adjudicated\n"
    assert_mentions(run("make", "review", folder, "--by", "Eva", "--undo"), "i0:", "drop")
    status = run("make", "status", folder)
    assert_mentions(status, "3 open", "0 agreed", "0 conflict", "1 adjudicated", "2 of 2 reviewers")
    assert json.loads(run("make", "status", folder, "--json"))["review"]["adjudicators"] == {"Ida": 1}
    run("make", "publish", folder, "--out", str(tmp_path / "out"), "--open", "leave-out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "Keep the register." in card
    assert "Ida: adjudicated items: 1" in card


def test_mistakes_on_the_command_line(translated: Project, run: Run) -> None:
    folder = saved(translated)
    assert "--by" in run("make", "review", folder, "--decision", "drop", code=2)
    added = ("make", "review", folder, "--add-reviewer", "Ana", "--by", "Ana")
    assert "--item" in run(*added, "--decision", "drop", code=2)
    assert "FIELD=NUMBER" in run(*added, "--item", "i0", "--decision", "edit", "--proposal", "context=x", code=2)
    assert "NAME=VALUE" in run(*added, "--item", "i0", "--decision", "edit", "--text", "context", code=2)
    assert "accept, edit, drop" in run(*added, "--item", "i0", "--decision", "keep", code=2)


def test_a_comment_is_stored_once(translated: Project, tmp_path: Path) -> None:
    review = reviewing(with_rule(translated, 1, 1, "all"), "Ana")
    review.decide_on_item("Ana", "i0", "drop", comment="not one of them")
    edited = {"context": BETTER.replace("0.", "1."), "target_term": "cocinero", "candidates[0].word": "sereno"}
    review.decide_on_item("Ana", "i1", "edit", texts=edited, comment="a better tense")
    database = sqlite3.connect(translated.folder / DATABASE)
    rows = "\n".join(database.iterdump())
    database.close()
    assert (rows.count("not one of them"), rows.count("a better tense")) == (1, 1)
    # Readers still see the reason.
    assert list_drop_reasons(translated) == {"i0": "not one of them"}
    publish_project(translated, tmp_path / "out", open_items="leave-out", licence="CC0-1.0")
    assert "dropped: not one of them" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_nobody_settles_their_own_conflict(translated: Project) -> None:
    review = reviewing(with_rule(translated, 2, 3), "Ana", "Eva", "Bob")
    review.decide_on_item("Ana", "i0", "accept")
    review.decide_on_item("Eva", "i0", "drop")
    review.decide_on_item("Bob", "i0", "edit", texts={"context": BETTER})
    for name in ("Ana", "eva"):
        assert not review.may_settle_conflict("i0", name)
        with raises_mentioning(OwnConflictError, "i0", "settle_own_conflicts"):
            review.settle_conflict(name, "i0", take="Ana")
    # A withdrawn decision also counts, and nothing was stored.
    review.decide_on_item("Ana", "i0", "drop")
    review.decide_on_item("Bob", "i0", "accept")
    with with_own_conflicts(translated):
        assert review.may_settle_conflict("i0", "Ana")
    review.undo_decision("Ana")
    assert not review.may_settle_conflict("i0", "Ana")


def test_an_allowed_settlement_of_an_own_conflict_is_recorded(translated: Project) -> None:
    review = reviewing(with_rule(translated, 2, 2), "Ana", "Eva", "Ida")
    for item in ("i0", "i1"):
        review.decide_on_item("Ana", item, "accept")
        review.decide_on_item("Eva", item, "drop")
    with with_own_conflicts(translated):
        review.settle_conflict("Ana", "i0", take="Ana")
        review.settle_conflict("Ida", "i1", take="Ana")
    summary = summarise_review(translated)
    assert summary is not None
    assert (dict(summary.adjudicators), dict(summary.own_conflicts)) == ({"Ana": 1, "Ida": 1}, {"Ana": 1})
    assert summary.to_json()["own_conflicts"] == {"Ana": 1}
    assert any("1 of them after a decision" in line for line in summary.format_lines())
