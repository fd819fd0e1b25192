"""Untranslated text in projects: findings for reviewers, the limit of `make publish`, and `data validate --against`."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from perf.breaking_engine import BreakingEngine
from tests.making.quality.conftest import AddDictionary
from tests.support.command import Run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.datasets import load_spec, parse_spec
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.errors import UsageError
from tiltmeter.forms.gest import GestItem
from tiltmeter.making.project import Project, create_project
from tiltmeter.making.publication import UntranslatedError, publish_project
from tiltmeter.making.quality.untranslated_items import compare_with_source
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.review.review import Review
from tiltmeter.making.translation_step import translate_project
from tiltmeter.translators import open_translator


class _LeavingEngine(BreakingEngine):
    """A system that leaves the word *gardener* (items i1 and n1) and marks it as unknown."""

    @property
    def key(self) -> str:
        return "leaving"

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        return [text.replace("jardinero", "gardener") for text in super().translate(texts, language)]

    def list_unknown_words(self, texts: Sequence[str]) -> list[list[str]]:
        return [["gardener"] if "gardener" in text else [] for text in texts]


@pytest.fixture
def translated(project: Project, add_dictionary: AddDictionary) -> Project:
    add_dictionary("es_ES", "el era muy hoy es en")
    done = translate_project(project, _LeavingEngine())
    assert done.untranslated.untranslated == ("i1", "n1")
    return project


def reasons(project: Project) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for stored in project.store.list_findings():
        if stored.finding.rule == "untranslated" and stored.closed_by is None:
            found.setdefault(stored.finding.item, set()).add(stored.finding.field)
    return found


def test_findings_are_queued_and_survive_the_repair(translated: Project) -> None:
    expected = {"i1": {"target_term", "context"}, "n1": {"target_term", "context"}}
    assert reasons(translated) == expected
    assert translated.store.list_unknown_words()["i1"] == ["gardener"]
    assert translated.store.list_unknown_words()["i0"] == []
    assert repair_project(translated).untranslated.untranslated == ("i1", "n1")
    assert reasons(translated) == expected
    queue = {entry.item: entry.reasons for entry in Review(translated).list_queue()}
    assert "untranslated" in queue["i1"]


def test_a_corrected_text_has_no_finding(translated: Project) -> None:
    for field, text in {"target_term": "jardinero", "context": "El jardinero era muy BLANK hoy number1."}.items():
        with translated.store.begin_transaction():
            translated.store.set_text("i1", "text", field, text, step="import", by="Ana", why="")
    repair_project(translated)
    assert reasons(translated).keys() == {"n1"}


def test_publishing_needs_a_reason_above_the_limit(translated: Project, tmp_path: Path, run: Run) -> None:
    with raises_mentioning(UntranslatedError, "2 of 6 items", "i1, n1", "allows 2.0%", "--accept untranslated="):
        publish_project(translated, tmp_path / "out", licence="MIT", open_items="keep")
    publish = ("make", "publish", str(translated.folder), "--out", str(tmp_path / "out"), "--licence", "MIT")
    run(*publish, "--open", "keep", "--accept", "untranslated=gardener is a brand")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert_mentions(card, "2 of 6 items (33.3%)", "gardener is a brand", "`es_ES`")
    message = run(*publish, "--open", "keep", "--accept", "untranslated=", code=2)
    assert_mentions(message, "untranslated=REASON")
    assert_mentions(run(*publish, "--open", "keep", "--accept", "typos=none", code=2), "'typos'")


def test_items_that_reviewers_accept_do_not_count(translated: Project, tmp_path: Path) -> None:
    review = Review(translated)
    review.add_reviewer("Ana")
    for item in ("i1", "n1"):
        review.decide_on_item("Ana", item, "accept")
    edition = publish_project(translated, tmp_path / "out", licence="MIT", open_items="keep")
    facts = edition.facts["untranslated"]
    assert (facts["untranslated"], facts["accepted_by_reviewers"], facts["share"]) == (0, 2, 0.0)


def test_the_limit_is_a_setting(translated: Project, tmp_path: Path, run: Run) -> None:
    path = translated.folder / "project.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("untranslated_share = 0.02", "untranslated_share = 0.5"), encoding="utf-8")
    publish = ("make", "publish", str(translated.folder), "--out", str(tmp_path / "out"), "--licence", "MIT")
    run(*publish, "--open", "keep")
    path.write_text(text.replace("untranslated_share = 0.02", "untranslated_share = 2"), encoding="utf-8")
    assert_mentions(run(*publish, code=2), "untranslated_share", "from 0 to 1")


def test_a_missing_dictionary_is_reported(project: Project, add_dictionary: AddDictionary, tmp_path: Path) -> None:
    done = translate_project(project, BreakingEngine())
    assert "hunspell-es" in done.untranslated.limits
    edition = publish_project(project, tmp_path / "out", licence="MIT")
    assert "hunspell-es" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert edition.facts["untranslated"]["dictionary"] == ""


def test_gendered_pairs(tmp_path: Path, add_dictionary: AddDictionary) -> None:
    add_dictionary("sk", "Bol Bola som doma")
    source = tmp_path / "g.jsonl"
    write_jsonl([GestItem("g1", "en", 1, "I was at home."), GestItem("g2", "en", 1, "I was grumpy.")], source)
    rows = ["from,to"]
    for sentence, words in {"I was at home.": "som doma.", "I was grumpy.": "som grumpy."}.items():
        rows += [f"{sentence},Bol {words}", f'"He said: ""{sentence}""","Povedal: ""Bol {words}"""']
        rows += [f'"She said: ""{sentence}""","Povedala: ""Bola {words}"""']
    (tmp_path / "sk.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    system = f"file:{tmp_path / 'sk.csv'}"
    with create_project(tmp_path / "sk", str(source), language="sk", system=system, pairs=True) as project:
        done = translate_project(project, open_translator(system))
        assert done.untranslated.untranslated == ("g2",)


def test_validate_against_the_source(translated: Project, tmp_path: Path, run: Run) -> None:
    publish_project(translated, tmp_path / "out", licence="MIT", open_items="keep", accepted={"untranslated": "test"})
    printed = run("data", "validate", f"{tmp_path / 'out'}/", "--against", translated.settings.source)
    assert_mentions(printed, "warning  untranslated", "gardener", "item i1")
    assert "untranslated" not in run("data", "validate", f"{tmp_path / 'out'}/")
    run("data", "validate", f"{tmp_path / 'out'}/", "--against", translated.settings.source, "--strict", code=2)


def test_sources_that_do_not_fit(translated: Project, add_dictionary: AddDictionary) -> None:
    items = load_spec(parse_spec(translated.settings.source))
    with raises_mentioning(UsageError, "both in 'en'"):
        compare_with_source(items, items, "items.jsonl")
    with raises_mentioning(UsageError, "items.jsonl", "no item with the id"):
        compare_with_source(items, [], "items.jsonl")
