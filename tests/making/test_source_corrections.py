"""The step `source`: checks, corrections and drops with reasons, and names that replace pronouns."""

from pathlib import Path

import pytest

from perf.breaking_engine import BreakingEngine
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms.pairs import PairItem
from tiltmeter.making.name_lists import find_name_errors, find_unlisted_names, replace_pronouns, require_name_list
from tiltmeter.making.project import Project, create_project, open_project
from tiltmeter.making.publication import publish_project
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.source_corrections import (
    apply_corrections,
    check_source,
    correct_item,
    drop_item,
    replace_pronouns_in_pairs,
    write_problems,
)
from tiltmeter.making.translation_step import translate_project

PAIRS = {
    "p0": ("He was very patient.", "She was very patient."),
    "p1": ("We saw his garden.", "We saw her garden."),
    "p2": ("The nurse was patient.", "The cook was patient."),
    "p3": ("We saw Leslie today.", "We saw Mary today."),
}


@pytest.fixture
def pairs(tmp_path: Path) -> Project:
    items = [PairItem(item, "en", "gender", "stereo", *pair) for item, pair in PAIRS.items()]
    write_jsonl(items, tmp_path / "pairs.jsonl")
    return create_project(tmp_path / "es", str(tmp_path / "pairs.jsonl"), language="es", system="apertium:eng-xyz")


def test_what_is_found(pairs: Project) -> None:
    assert [(problem.item, problem.code) for problem in check_source(pairs)] == [
        ("p0", "told-by-pronoun"),
        ("p1", "told-by-pronoun"),
        ("p3", "unlisted-name"),
    ]


def test_a_correction_undoes_the_translation(project: Project) -> None:
    translate_project(project, BreakingEngine())
    correct_item(project, "i0", {"context": "The cook is BLANK."}, by="Ana", why="tense")
    entry = project.store.get_item("i0")
    assert (entry.stage, project.store.list_texts("text", "i0")) == ("source", {})
    assert project.get_source_item(entry).candidates[0].sentence == "The cook is patient."  # type: ignore[attr-defined]
    last = project.store.list_history("i0")[-1]
    assert (last.step, last.by, last.why, last.field) == ("source", "Ana", "tense", "context")
    translate_project(project, BreakingEngine())
    assert project.store.list_texts("text", "i0")["i0"]["context"] == "el cocinero es BLANK."


def test_what_cannot_be_corrected(project: Project) -> None:
    with raises_mentioning(UsageError, "'i0'", "invalid: context:", "BLANK"):
        correct_item(project, "i0", {"context": "No hole."}, by="Ana", why="x")
    with raises_mentioning(UsageError, "'i0'", "no text 'verse'"):
        correct_item(project, "i0", {"verse": "x"}, by="Ana", why="x")
    with raises_mentioning(UsageError, "reason", "'i0' is missing"):
        drop_item(project, "i0", by="Ana", why=" ")
    with raises_mentioning(UsageError, "no item 'i9'"):
        drop_item(project, "i9", by="Ana", why="x")


def test_dropped_items_are_not_translated_and_are_in_the_card(project: Project, tmp_path: Path) -> None:
    drop_item(project, "i0", by="Ana", why="no stereotype")
    drop_item(project, "i1", by="Ana", why="mistake")
    path = tmp_path / "corrections.csv"
    path.write_text("item,action,reason\ni1,restore,it was right\n", encoding="utf-8")
    assert apply_corrections(project, path, by="Ana").restored == 1
    assert translate_project(project, BreakingEngine()).items == 5
    publish_project(project, tmp_path / "out", licence="MIT")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| i0 | dropped: no stereotype |" in card
    assert "| dropped in the step source | 1 |" in card


def test_corrections_by_file(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "corrections.csv"
    path.write_text(
        "item,action,field,text,reason\ni0,correct,target_term,chef,clearer\ni1,drop,,,faulty\ni2,,,,\n",
        encoding="utf-8",
    )
    done = apply_corrections(project, path, by="Ana")
    assert (done.corrected, done.dropped, done.restored) == (1, 1, 0)
    assert project.store.list_steps()[-1].facts == {"corrected": 1, "dropped": 1}
    path.write_text("item,action,reason\ni0,mend,why not\n", encoding="utf-8")
    with raises_mentioning(DataError, "corrections.csv, row 2:", "'mend'", "correct or drop"):
        apply_corrections(project, path, by="Ana")


def test_the_file_of_problems_can_be_filled_in(pairs: Project, tmp_path: Path) -> None:
    path = tmp_path / "problems.csv"
    assert write_problems(pairs, path) == 3
    text = path.read_text(encoding="utf-8").replace("p3,,less,,,", "p3,correct,less,We saw John today.,listed names,")
    path.write_text(text, encoding="utf-8")
    assert apply_corrections(pairs, path, by="Ana").corrected == 1


def test_names_from_source_to_translation(pairs: Project) -> None:
    drop_item(pairs, "p3", by="Ana", why="a name that is not listed")
    assert replace_pronouns_in_pairs(pairs, by="Ana") == 2
    sources = {entry.id: pairs.get_source_item(entry) for entry in pairs.store.list_items()}
    assert sources["p0"].more == "John was very patient."  # type: ignore[attr-defined]
    assert sources["p1"].less == "We saw Linda's garden."  # type: ignore[attr-defined]
    assert check_source(pairs) == []
    translate_project(pairs, BreakingEngine())  # which leaves names as they are
    with open_project(pairs.folder) as again:
        assert again.settings.names
        repair_project(again)
        assert again.store.list_texts("text", "p0")["p0"]["more"].startswith("Juan era")
        assert "Carmen" in again.store.list_texts("text", "p1")["p1"]["less"]
        with again.store.begin_transaction():
            again.store.set_text("p0", "text", "less", "Leslie era muy calma.", step="review", by="Ana", why="")
        repair_project(again)
        findings = [stored.finding for stored in again.store.list_findings("p0", ("open",))]
    (found,) = [finding for finding in findings if finding.rule == "names"]
    assert_mentions(found.reason, "María", "it contains none")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The nurse slept.", "The cook slept."),
        ("He slept.", "She slept well."),
        ("They hurt himself.", "They hurt herself."),
        ("He slept.", "He slept."),
        ("He saw the cook.", "She saw the nurse."),
    ],
)
def test_pairs_that_keep_their_words(one: str, other: str) -> None:
    assert replace_pronouns(one, other, 0) is None


def test_capitals_at_the_start_are_no_names() -> None:
    assert find_unlisted_names("Nurses slept.", "Cooks slept.", "en") == []
    assert find_unlisted_names("Leslie slept.", "Mary slept.", "en") == ["Leslie"]


def test_every_list_has_as_many_names_and_no_name_for_both() -> None:
    languages = ("cs", "de", "en", "es", "fi", "fr", "id", "it", "pl", "pt", "sk", "tr")
    for language in languages:
        names = require_name_list(language)
        assert len(names.masculine) == len(names.feminine) == len(require_name_list("en").masculine)
        assert len(set(names.names)) == len(names.names)
    with raises_mentioning(UsageError, "names for 'xx'", "xx.toml"):
        require_name_list("xx")


def test_drafts_without_names_are_left_alone(project: Project) -> None:
    translate_project(project, BreakingEngine())
    assert [
        finding for draft in project.build_drafts(project.store.list_items()) for finding in find_name_errors(draft)
    ] == []


def test_the_command(project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(project.folder)
    assert command(monkeypatch, "make", "source", folder, "--drop", "i0") == 2
    assert command(monkeypatch, "make", "source", folder, "--drop", "i0", "--by", "Ana", "--why", "faulty") == 0
    assert "5 items, 0 with problems" in capsys.readouterr().out
