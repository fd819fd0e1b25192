"""Runs of version 0.1 remain readable: `run_of_0_1` was written by that version."""

import json
from pathlib import Path

import pytest

import tiltmeter
from tests.runs.made import association_scores, run, saved
from tiltmeter.runs.manifest_file import read_manifest, write_manifest
from tiltmeter.runs.run_files import MANIFEST

OLD = Path(__file__).parent / "run_of_0_1"


def test_a_run_of_0_1_is_read_with_its_verdicts() -> None:
    assert read_manifest(OLD).versions["tiltmeter"] == "0.1.0"
    assert not read_manifest(OLD).is_edited
    result = tiltmeter.load_run(OLD)
    stored = json.loads((OLD / "measures.json").read_text(encoding="utf-8"))
    values = stored if isinstance(stored, list) else stored["records"]
    assert [record.value for record in result.records] == [entry["value"] for entry in values]
    (verdict,) = {r.verdict.kind for r in result.records if r.measure == "SS" and r.view == "all" and r.verdict}
    assert verdict in tiltmeter.summary(OLD)["verdict"].iloc[0]
    assert len(result.scores) == 36


def test_a_run_of_0_1_has_the_same_numbers_when_it_is_measured_again() -> None:
    result = tiltmeter.load_run(OLD)
    again = result.remeasure()
    # Other versions of scipy and numpy change the last digits.
    assert [record.value for record in again.records] == pytest.approx([record.value for record in result.records])
    assert [record.verdict and record.verdict.words for record in again.records] == [
        record.verdict and record.verdict.words for record in result.records
    ]


def test_a_run_of_0_1_can_be_compared_checked_and_reported(tmp_path: Path) -> None:
    other = saved(tmp_path / "other", run(association_scores("made/one", n=8)))
    assert tiltmeter.check(OLD, min="starter.LMS 0")[0].passed
    page = tiltmeter.report([OLD, other], tmp_path / "page.html")
    assert "bert-tiny" in page.read_text(encoding="utf-8")


def test_writing_the_manifest_of_0_1_keeps_everything(tmp_path: Path) -> None:
    write_manifest(tmp_path, read_manifest(OLD))
    old, new = (json.loads((folder / MANIFEST).read_text(encoding="utf-8")) for folder in (OLD, tmp_path))
    assert {key: new[key] for key in old} == old
