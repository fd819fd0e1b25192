"""The step suggest: proposals of a chat model are shown in the review, and nobody but people decides."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from perf.breaking_engine import BreakingEngine
from perf.making_items import source_file
from tests.models.chat_served import MadeChat
from tests.support.command import Run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.making.glossary import GLOSSARY
from tiltmeter.making.open_problems import assemble_items
from tiltmeter.making.project import Project, create_project
from tiltmeter.making.publication import publish_project
from tiltmeter.making.quality.chat_suggestions import RULE, suggest_corrections
from tiltmeter.making.review.review import Review
from tiltmeter.making.translation_step import translate_project

WHY = "The word order was wrong."


def propose(prompt: str, _sample: int = 0) -> str:
    """Propose another context, with the subject of the item."""
    number = re.search(r"number(\d)", prompt)[1]  # type: ignore[index]
    return json.dumps({"corrections": {"context": f"Hoy era muy BLANK number{number}."}, "explanation": WHY})


@pytest.fixture
def made() -> MadeChat:
    return MadeChat(propose)


def list_suggestions(project: Project) -> dict[str, tuple[str, ...]]:
    found = [stored.finding for stored in project.store.list_findings() if stored.finding.rule == RULE]
    return {finding.item: finding.proposals for finding in found}


def test_proposals_are_stored_and_nothing_else_changes(translated: Project, made: MadeChat) -> None:
    before = translated.store.list_texts("text"), translated.store.list_items()
    done = suggest_corrections(translated, made)
    assert (done.items, done.proposed, done.unchanged, done.failed) == (4, 4, 0, {})
    assert (translated.store.list_texts("text"), translated.store.list_items()) == before
    assert list_suggestions(translated) == {f"i{n}": (f"Hoy era muy BLANK number{n}.",) for n in range(4)}
    prompt = made.asked[0]
    assert_mentions(prompt, "into Spanish", "The cook was very BLANK", "BLANK was lost", "- unrelated:")


def test_proposals_are_in_the_review_and_people_decide(translated: Project, made: MadeChat, tmp_path: Path) -> None:
    session = Review(translated)
    session.add_reviewer("Ana")
    session.list_queue()
    suggest_corrections(translated, made)
    view = session.show_item("i0", "Ana")
    (problem,) = (problem for problem in view.problems if problem.reason == RULE)
    assert_mentions(problem.message, made.name, WHY)
    number = [text for one in view.problems for text in one.proposals].index(problem.proposals[0]) + 1
    session.decide_on_item("Ana", "i0", "edit", proposals={"context": number}, accepted={"target-not-in-context": "ok"})
    assert translated.store.list_texts("text", "i0")["i0"]["context"] == problem.proposals[0]
    assert "i0" not in {problem.item for problem in assemble_items(translated).problems}
    asked = len(made.asked)
    assert suggest_corrections(translated, made, limit=2).items == 2
    assert len(made.asked) == asked
    publish_project(translated, tmp_path / "out", open_items="keep", licence="CC0-1.0")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert_mentions(card, f"{made.name} proposed", "4 of 4 items", "people decided")


def test_new_proposals_replace_earlier_ones(translated: Project, made: MadeChat) -> None:
    suggest_corrections(translated, made)
    other = MadeChat(lambda _prompt, _sample: '{"corrections": {}, "explanation": "Nothing is wrong."}', name="chat:b")
    done = suggest_corrections(translated, other)
    assert (done.items, done.proposed, done.unchanged) == (4, 0, 4)
    assert list_suggestions(translated) == {}
    assert not any(WHY in prompt for prompt in other.asked)


def test_the_same_text_is_no_proposal(translated: Project) -> None:
    context = translated.store.list_texts("text", "i0")["i0"]["context"]
    same = MadeChat(lambda _prompt, _sample: json.dumps({"corrections": {"context": context}, "explanation": "Good."}))
    assert suggest_corrections(translated, same, item="i0").unchanged == 1


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("The context is wrong.", ("not a JSON object",)),
        ({"corrections": {"context": "Hoy era BLANK."}}, ("'explanation'",)),
        ({"corrections": {"context": "Hoy era BLANK."}, "explanation": ""}, ("'explanation'",)),
        ({"corrections": {"context": "Hoy era BLANK."}, "explanation": "Well, " * 99}, ("'explanation'",)),
        ({"corrections": ["Hoy era BLANK."], "explanation": WHY}, ("'corrections'",)),
        ({"corrections": {"contexto": "Hoy era BLANK."}, "explanation": WHY}, ("'contexto'",)),
        ({"corrections": {"context": "Hoy era."}, "explanation": WHY}, ("BLANK 0 times",)),
        ({"corrections": {"stereotype": ""}, "explanation": WHY}, ("'stereotype'", "empty")),
        ({"corrections": {}, "explanation": WHY, "decision": "accept"}, ("'corrections'",)),
    ],
)
def test_broken_replies_are_no_proposals(translated: Project, reply: Any, parts: tuple[str, ...]) -> None:
    made = MadeChat(lambda _prompt, _sample: reply if isinstance(reply, str) else json.dumps(reply))
    done = suggest_corrections(translated, made, item="i1")
    assert_mentions(done.failed["i1"], *parts)
    assert list_suggestions(translated) == {}


def test_the_glossary_is_part_of_the_message(translated: Project, made: MadeChat) -> None:
    (translated.folder / GLOSSARY).write_text("term,translation\ncook,cocinera\n", encoding="utf-8")
    suggest_corrections(translated, made, limit=2)
    assert ["cook: cocinera" in prompt for prompt in made.asked] == [True, False]


def test_a_dead_server_leaves_no_proposals(translated: Project, made: MadeChat) -> None:
    def die(_prompt: str, _sample: int = 0) -> str:
        raise ModelError("The line is dead.")

    made.policy = die
    with raises_mentioning(ModelError, "The line is dead."):
        suggest_corrections(translated, made)
    assert list_suggestions(translated) == {}


def test_items_without_problems_are_not_asked_about(project: Project, made: MadeChat) -> None:
    translate_project(project, BreakingEngine())
    assert suggest_corrections(project, made).items == 0
    assert made.asked == []
    with raises_mentioning(UsageError, "i0", "no open problem"):
        suggest_corrections(project, made, item="i0")
    with raises_mentioning(UsageError, "no item 'i9'"):
        suggest_corrections(project, made, item="i9")


def test_the_command(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, made: MadeChat) -> None:
    source = source_file(tmp_path / "source.jsonl")
    with create_project(tmp_path / "es", source, language="es", system="apertium:eng-xyz") as project:
        translate_project(project, BreakingEngine(way="dropped"))
    monkeypatch.setattr("tiltmeter.models.chat_server.open_served_chat", lambda *_: made)
    name = "chat:made@http://localhost:1/v1"
    folder = str(tmp_path / "es")
    assert_mentions(run("make", "suggest", folder, "--with", name), "4 items", "4 with proposals")
    assert RULE in run("make", "status", folder)
    assert_mentions(run("make", "suggest", folder, "--with", "apertium:eng-spa", code=2), "not a chat model")
    assert_mentions(run("make", "suggest", folder, "--with", name, "--device", "cpu", code=2), "--device")
