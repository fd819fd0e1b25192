"""The step translate with systems that translate whole items: one request per item, nothing half-written."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf.breaking_engine import WORDS
from perf.making_items import gest_file, source_file
from tests.models.chat_served import MadeChat
from tests.support.command import Run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DataError, ModelError, UsageError
from tiltmeter.making import translation_step
from tiltmeter.making.glossary import GLOSSARY, read_glossary
from tiltmeter.making.item_translation import GLOSSARY_RULE, build_requests
from tiltmeter.making.open_problems import assemble_items
from tiltmeter.making.project import Project, create_project
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.translation_step import estimate_volume, translate_project
from tiltmeter.translators.chat_translator import ChatTranslator

SYSTEM = "chat:made@http://localhost:1/v1"


def read_texts(prompt: str) -> dict[str, str]:
    """Return the texts that a message asks to translate."""
    texts: dict[str, str] = json.loads(re.search(r"Texts:\n(\{.*?\n\})", prompt, re.DOTALL)[1])  # type: ignore[index]
    return texts


def translate_words(prompt: str, _sample: int = 0) -> str:
    texts = read_texts(prompt)
    return json.dumps(
        {key: re.sub(r"\w+", lambda match: WORDS.get(match[0].lower(), match[0]), text) for key, text in texts.items()}
    )


def refuse_gardeners(prompt: str, _sample: int = 0) -> str:
    return "I cannot translate this." if "gardener" in prompt else translate_words(prompt)


@pytest.fixture
def made() -> MadeChat:
    return MadeChat(translate_words, name=SYSTEM)


@pytest.fixture
def chat_project(tmp_path: Path) -> Iterator[Project]:
    source = source_file(tmp_path / "source.jsonl")
    with create_project(tmp_path / "es", source, language="es", system=SYSTEM) as project:
        yield project


def test_each_item_is_one_request(chat_project: Project, made: MadeChat) -> None:
    done = translate_project(chat_project, ChatTranslator(made))
    assert (done.items, dict(done.blanks), done.failed) == (6, {"kept": 4}, {})
    assert len(made.asked) == 6
    texts = chat_project.store.list_texts("text", "i0")["i0"]
    assert texts["context"] == "el cocinero era muy BLANK hoy number0."
    assert texts["candidates[1].word"] == "brusco"
    assert {entry.by for entry in chat_project.store.list_history("i0")} == {SYSTEM}
    assert [item.id for item in assemble_items(chat_project).items] == ["i0", "i1", "i2", "i3", "n0", "n1"]
    assert chat_project.store.count_blank_outcomes() == {("plain", "kept"): 4}
    assert repair_project(chat_project).items == 6


def test_the_roles_and_the_blank_are_explained(chat_project: Project) -> None:
    requests = build_requests(chat_project, chat_project.store.list_items())
    blank, following = requests[0], requests[4]
    assert [text.key for text in blank.texts] == [
        "target_term",
        "context",
        "stereotype",
        "anti-stereotype",
        "unrelated",
    ]
    meanings = {text.key: text.meaning for text in blank.texts}
    assert "BLANK" in meanings["context"]
    assert "no sense" in meanings["unrelated"]
    assert (blank.term_key, blank.context_key) == ("target_term", "context")
    assert {text.key: text.meaning for text in following.texts}["stereotype"].startswith("a sentence")


def test_other_forms_are_translated_too(tmp_path: Path) -> None:
    source = gest_file(tmp_path / "gest.jsonl")
    for pairs, keys in ((False, {"sentence"}), (True, {"sentence", "masculine", "feminine"})):
        with create_project(tmp_path / f"pairs-{pairs}", source, language="es", system=SYSTEM, pairs=pairs) as project:
            (request, *_) = build_requests(project, project.store.list_items())
            assert {text.key for text in request.texts} == keys


def test_a_failed_item_stays_untranslated(chat_project: Project, made: MadeChat) -> None:
    made.policy = refuse_gardeners
    done = translate_project(chat_project, ChatTranslator(made))
    assert done.items == 4
    assert set(done.failed) == {"i1", "n1"}
    assert_mentions(done.failed["i1"], "JSON object")
    assert chat_project.store.list_texts("text", "i1") == {}
    assert [entry.id for entry in chat_project.store.list_items("source")] == ["i1", "n1"]
    made.policy = translate_words
    asked = len(made.asked)
    assert translate_project(chat_project, ChatTranslator(made)).items == 2
    assert len(made.asked) == asked + 2


def test_the_volume_counts_what_is_sent(chat_project: Project, made: MadeChat, tmp_path: Path) -> None:
    translator = ChatTranslator(made)
    expected = estimate_volume(chat_project, translator)
    assert "filled context" not in expected.texts
    assert expected.new_texts == sum(expected.texts.values())
    translate_project(chat_project, translator)
    (record,) = chat_project.store.list_steps()
    assert (record.facts["system"], record.facts["items"]) == (SYSTEM, 6)
    assert record.facts["sent"] == record.facts["characters"] == expected.new_characters
    # Another project with the same items sends nothing.
    source = source_file(tmp_path / "again.jsonl")
    with create_project(tmp_path / "again", source, language="es", system=SYSTEM) as again:
        assert estimate_volume(again, translator).new_texts == 0
        assert translate_project(again, translator).items == 6
    assert len(made.asked) == 6


def test_a_dead_server_stops_the_step_and_loses_nothing(
    chat_project: Project, made: MadeChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation_step, "_BATCH", 2)

    def die(prompt: str, _sample: int = 0) -> str:
        if len(made.asked) > 3:
            raise ModelError("The line is dead.")
        return translate_words(prompt)

    made.policy = die
    with raises_mentioning(ModelError, "The line is dead."):
        translate_project(chat_project, ChatTranslator(made))
    # The third item arrived, and the request of the fourth one failed alone before the server was given up.
    assert len(chat_project.store.list_items("translated")) == 3
    made.policy = translate_words
    made.asked.clear()
    assert translate_project(chat_project, ChatTranslator(made)).items == 3
    assert len(made.asked) == 3


def test_the_glossary_fixes_terms(chat_project: Project, made: MadeChat) -> None:
    (chat_project.folder / GLOSSARY).write_text(
        "term,translation,note\nCook,cocinero,the person\nnurse,sanitario,\nunused,nunca,\n", encoding="utf-8"
    )
    requests = build_requests(chat_project, chat_project.store.list_items())
    assert [[term.translation for term in request.glossary] for request in requests[:3]] == [
        ["cocinero"],
        [],
        ["sanitario"],
    ]
    translate_project(chat_project, ChatTranslator(made))
    found = [stored.finding for stored in chat_project.store.list_findings()]
    assert {(one.item, one.rule, one.kind) for one in found} == {("i2", GLOSSARY_RULE, "open")}
    assert_mentions(found[0].reason, "'nurse'", "'sanitario'")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("term,meaning\ncook,cocinero\n", ("'translation'", "term, meaning")),
        ("", ("'term'",)),
        ("term,translation\ncook,cocinero\nnurse,\n", ("row 3", "'translation'")),
        ("term;translation\n;cocinero\n", ("row 2", "'term'")),
        ("term,translation\ncook,cocinero\nCook,cocinera\n", ("row 3", "'Cook'", "'cocinero'")),
        ("term,translation\ncook,el BLANK\n", ("row 2", "BLANK")),
        ("term,translation\ncook,cocinero,person,more\n", ("row 2", "more cells")),
    ],
)
def test_wrong_rows_of_a_glossary_are_named(tmp_path: Path, content: str, parts: tuple[str, ...]) -> None:
    (tmp_path / GLOSSARY).write_text(content, encoding="utf-8")
    with raises_mentioning(DataError, GLOSSARY, *parts):
        read_glossary(tmp_path)


def test_empty_rows_and_repetitions_of_a_glossary_are_ignored(tmp_path: Path) -> None:
    (tmp_path / GLOSSARY).write_text("term\ttranslation\ncook\tcocinero\n\t\nCOOK\tcocinero\n", encoding="utf-8")
    assert [term.translation for term in read_glossary(tmp_path)] == ["cocinero"]
    assert read_glossary(tmp_path / "elsewhere") == []


def test_a_password_in_the_address_is_rejected(tmp_path: Path) -> None:
    source = source_file(tmp_path / "source.jsonl")
    with raises_mentioning(UsageError, "password", "project.toml"):
        create_project(tmp_path / "es", source, language="es", system="chat:made@http://me:secret@localhost:1/v1")


def test_the_command_names_failed_items(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeChat(refuse_gardeners, name=SYSTEM)
    opened: dict[str, Any] = {}

    def open_made(name: str, **options: Any) -> ChatTranslator:
        opened.update(name=name, **options)
        return ChatTranslator(made)

    monkeypatch.setattr("tiltmeter.translators.chat_translator.open_chat_translator", open_made)
    folder = str(tmp_path / "es")
    for module in ("make", "make_new"):
        monkeypatch.setattr(f"tiltmeter.cli.{module}.print_note", print)
    source = source_file(tmp_path / "source.jsonl")
    created = run("make", "new", source, "--to", "es", "--with", SYSTEM, "--out", folder)
    assert_mentions(created, "Note", SYSTEM, "into es")
    assert opened == {}
    out = run("make", "translate", folder)
    assert opened["name"] == SYSTEM
    assert_mentions(out, "4 items translated", "2 items stay", "i1 (it is not", "n1 (it is not")
