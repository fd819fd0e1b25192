"""The measured precision of repair rules: packaged files, and the file of a project."""

from importlib.resources import files
from pathlib import Path

import pytest

from tests.making.drafts import draft
from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.project import Project
from tiltmeter.making.repair.proven_changes import settle_changes, transfer_change, update_proposals
from tiltmeter.making.repair.rule_precision import (
    PROJECT_FILE,
    RulePrecision,
    format_precision,
    load_precision,
    parse_precision,
    read_project_precision,
)

PACKAGED = sorted(path.name for path in (files("tiltmeter.making.repair") / "precision").iterdir())


@pytest.mark.parametrize("name", PACKAGED)
def test_packaged_data_name_the_texts_and_the_day(name: str) -> None:
    entries = load_precision(name.removesuffix(".toml"))
    assert entries
    assert all(entry.texts and entry.date and entry.read and entry.reader for entry in entries.values())


def test_data_survive_a_round_trip() -> None:
    entries = {"a": RulePrecision("a", 3, 2, "2026-11-19", 'texts "of a person"'), "b": RulePrecision("b", 0, 0)}
    assert parse_precision(format_precision(entries.values()), "x.toml") == entries


@pytest.mark.parametrize(
    "text",
    [
        "[[rule]]",
        "rule = 3",
        '[[rule]]\nname = "a"\nread = 2\nright = 3',
        '[[rule]]\nname = "a"\nread = "2"\nright = 1',
    ],
)
def test_broken_data_are_named(text: str) -> None:
    with raises_mentioning(DataError, "precision.toml", "invalid precision data"):
        parse_precision(text, "precision.toml")


def test_the_data_of_a_project_come_first(tmp_path: Path) -> None:
    assert read_project_precision(tmp_path, "fr") == load_precision("fr-CA")
    own = RulePrecision("target-not-in-context", 40, 20, "2026-11-19", "ours")
    (tmp_path / PROJECT_FILE).write_text(format_precision([own]), encoding="utf-8")
    assert read_project_precision(tmp_path, "fr") == {**load_precision("fr"), own.rule: own}


def test_a_change_is_made_in_a_text_that_changed_elsewhere() -> None:
    assert transfer_change("a b  c .", "a b c .", "a x b  c.") == "a x b c."
    assert transfer_change("a b", "a c", "a d") is None


def test_a_proposal_includes_later_changes_and_disappears_with_its_place() -> None:
    one = draft("Der  BLANK-Koch .")
    kept = RepairFinding(one.item, "context", "r", "proposed", "…", "Der  BLANK-Koch .", ("Der  BLANK Koch .",))
    gone = RepairFinding(one.item, "context", "r", "proposed", "…", "Der  BLANK-Koch .", ("Die  BLANK-Koch .",))
    noted = RepairFinding(one.item, "context", "r", "open", "…", "Der  BLANK-Koch .")
    changed = one.replace_translation("context", "Dem BLANK-Koch .")
    updated = update_proposals([changed], [kept, gone, noted])
    assert [(finding.kind, finding.proposals) for finding in updated] == [
        ("proposed", ("Dem BLANK Koch .",)),
        ("open", ()),
    ]


def test_a_later_change_does_not_build_on_an_unproven_one() -> None:
    one = draft("a b c")
    first = RepairFinding(one.item, "context", "unproven", "changed", "…", "a b c", ("x b c",))
    second = RepairFinding(one.item, "context", "proven", "changed", "…", "x b c", ("x b z",))
    (after,), findings = settle_changes([one], [first, second], {"proven": RulePrecision("proven", 20, 20)})
    assert after.texts["context"] == "a b z"
    assert [(finding.kind, finding.proposals) for finding in findings] == [
        ("proposed", ("x b c",)),
        ("changed", ("a b z",)),
    ]


def test_a_project_uses_its_own_data(translated: Project) -> None:
    from tiltmeter.making.repair_step import repair_project

    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", "el  cocinero BLANK .", step="translate", by="x", why="x")
    own = RulePrecision("spaces", 30, 30, "2026-11-19", "ours")
    (translated.folder / PROJECT_FILE).write_text(format_precision([own]), encoding="utf-8")
    done = repair_project(translated)
    assert done.findings["spaces", "changed"] == 1
    facts = translated.store.list_steps()[-1].facts
    assert ["spaces", 30, 30, "2026-11-19", "ours", ""] in facts["precision"]
    (translated.folder / PROJECT_FILE).write_text("[[rule]]", encoding="utf-8")
    with raises_mentioning(DataError, PROJECT_FILE):
        repair_project(translated)
