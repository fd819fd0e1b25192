"""`data diff`: added, removed and changed items of two versions."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions
from tiltmeter.datasets import load
from tiltmeter.datasets.item_differences import compare_versions
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.forms.association import AssociationItem


def starter() -> list[AssociationItem]:
    return [item for item in load("starter", language="en") if isinstance(item, AssociationItem)]


def versions(folder: Path) -> tuple[str, str]:
    """Two files: the second lacks the first item, has a new one, and a new word in the third."""
    before = starter()
    third = before[2]
    first, *others = third.candidates
    word = replace(first, word="calm", sentence=third.context.replace("BLANK", "calm"))
    after = [before[1], replace(third, candidates=(word, *others)), *before[3:], replace(before[0], id="new")]
    for name, items in (("before", before), ("after", after)):
        write_jsonl(items, folder / f"{name}.jsonl")
    return str(folder / "before.jsonl"), str(folder / "after.jsonl")


def test_items_are_added_removed_changed_or_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items, files = starter(), versions(tmp_path)
    out = tmp_path / "changes.csv"
    assert command(monkeypatch, "data", "diff", *files, "--json", "--out", str(out)) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["added"] == [{"language": "en", "id": "new"}]
    assert found["removed"] == [{"language": "en", "id": items[0].id}]
    assert found["equal"] == len(items) - 2
    assert {(change["item"], change["after"]) for change in found["changes"]} == {(items[2].id, "calm")}
    with out.open(encoding="utf-8-sig", newline="") as file:
        assert [row["after"] for row in csv.DictReader(file)] == ["calm"]
    assert command(monkeypatch, "data", "diff", *files) == 0
    printed = capsys.readouterr().out
    assert_mentions(printed, "1 added, 1 removed, 1 changed", "+ calm", f"- {items[2].candidates[0].word}")


def test_long_lists_are_cut_unless_all_are_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items = starter()
    write_jsonl(items, tmp_path / "before.jsonl")
    write_jsonl(items[:1], tmp_path / "after.jsonl")
    words = ("data", "diff", str(tmp_path / "before.jsonl"), str(tmp_path / "after.jsonl"))
    assert command(monkeypatch, *words) == 0
    short = capsys.readouterr().out
    assert command(monkeypatch, *words, "--all") == 0
    full = capsys.readouterr().out
    assert f"and {len(items) - 11} more" in short
    assert items[-1].id not in short
    assert items[-1].id in full
    assert "more" not in full


def test_equal_versions_have_no_differences() -> None:
    found = compare_versions(starter(), starter()[::-1])
    assert (found.added, found.removed, found.changes, found.equal) == ([], [], [], len(starter()))
