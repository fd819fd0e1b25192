"""Files of a run that were changed after it was saved are reported wherever the run is read."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.runs.made import association_scores
from tests.runs.made import run as made_run
from tiltmeter.api import compare
from tiltmeter.reports.report_page import make_report
from tiltmeter.runs.manifest_file import read_manifest, write_manifest
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES

CHANGED = "changed after the run"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made_run(association_scores(seed=1, n=8)).save(tmp_path / "run")


def better_numbers(folder: Path) -> None:
    rows = json.loads((folder / MEASURES).read_text(encoding="utf-8"))
    rows[0]["value"] = 50.0
    (folder / MEASURES).write_text(json.dumps(rows), encoding="utf-8")


def other_scores(folder: Path) -> None:
    scores = pd.read_parquet(folder / SCORES)
    scores.assign(score=scores["score"] + 1).to_parquet(folder / SCORES, index=False)


def other_model(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["request"]["note"] = "another"
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def test_an_unchanged_run_is_read_without_warning(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert Result.load(folder).changed == ()
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("name", "change"), [(MEASURES, better_numbers), (SCORES, other_scores), (MANIFEST, other_model)]
)
def test_a_changed_file_is_named(
    name: str, change: Callable[[Path], None], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    change(folder)
    result = Result.load(folder)
    assert result.changed == (name,)
    assert f"{folder}: {name} was {CHANGED}" in caplog.text


def test_a_run_of_an_earlier_version_has_no_digests(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_manifest(folder, replace(read_manifest(folder), digests={}))
    better_numbers(folder)
    assert Result.load(folder).changed == ()
    assert caplog.text == ""


def test_adding_a_note_is_not_a_change(folder: Path) -> None:
    write_manifest(folder, replace(read_manifest(folder), notes=("A new one.",)))
    assert Result.load(folder).changed == ()
    better_numbers(folder)
    assert Result.load(folder).changed == (MEASURES,)


def test_adding_a_note_does_not_hide_an_edited_manifest(folder: Path) -> None:
    other_model(folder)
    write_manifest(folder, replace(read_manifest(folder), notes=("A new one.",)))
    assert Result.load(folder).changed == (MANIFEST,)


def test_reports_and_comparisons_name_changed_files(folder: Path, tmp_path: Path) -> None:
    other = made_run(association_scores("made/two", seed=2, n=8)).save(tmp_path / "other")
    better_numbers(folder)
    page, _ = make_report([("run", Result.load(folder)), ("other", Result.load(other))])
    assert page.count(f"{MEASURES} was {CHANGED}") == 1
    (note,) = [note for note in compare([folder, other]).notes if CHANGED in note]
    assert note.startswith(f"run: {MEASURES}")
