"""Runs repeat warnings that change the meaning of a number, and list skipped rows of released files."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter import evaluate
from tiltmeter.cli.output import print_result
from tiltmeter.datasets import dataset_loader
from tiltmeter.datasets.dataset_definition import Dataset, Source
from tiltmeter.datasets.upstream_files import Pin, UpstreamFile
from tiltmeter.errors import DataError
from tiltmeter.reports import provenance
from tiltmeter.runs.data_notes import describe_data_problems, list_omitted_rows
from tiltmeter.runs.portions import load_portions

PAIR = {"language": "en", "bias_type": "age", "more": "the nurse was kind .", "less": "she was kind ."}
SAME = PAIR | {"id": "same", "less": PAIR["more"]}
SPACE = PAIR | {"id": "space", "less": f"{PAIR['more']} "}
LINES = [PAIR | {"id": "good"}, SAME, SPACE]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_run_counts_the_warnings(causal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "pairs.jsonl", LINES)
    result = evaluate(causal, str(file), out=tmp_path / "run")
    (data,) = result.manifest.data
    assert data.warnings == {"identical-pair": 1, "invisible-difference": 1}
    notes = provenance.list_notes(result.manifest)  # the report shows these
    for code in ("identical-pair", "invisible-difference"):
        assert any(code in note and str(file) in note for note in notes)
    print_result(result)
    assert "identical-pair" in capsys.readouterr().err


def test_only_items_that_were_asked_are_counted(tmp_path: Path) -> None:
    (portion,) = load_portions(str(write(tmp_path / "pairs.jsonl", LINES)))
    assert replace(portion, items=portion.items[:1]).count_warnings() == {}
    assert replace(portion, items=portion.items[:2]).count_warnings() == {"identical-pair": 1}


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Add a data set with bad rows and an unreadable file to the catalogue."""
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path))
    folder = tmp_path / "owner" / "set"
    folder.mkdir(parents=True)
    write(folder / "a.jsonl", [PAIR | {"id": "1"}, PAIR | {"id": "1"}, PAIR | {"id": "2", "direction": "up"}])
    (folder / "b.csv").write_text("sentence,theme\nI sang,2\n", encoding="utf-8")
    formats = {"a.jsonl": "jsonl", "b.csv": "gest-csv"}
    sources = tuple(
        Source("en", None, format_, UpstreamFile("owner/set", "0" * 40, name, Pin("commit", "")))
        for name, format_ in formats.items()
    )
    made = Dataset("released", "pairs", "A set", "MIT", "Somebody", "None.", (), sources)
    monkeypatch.setitem(dataset_loader.DATASETS._datasets, "released", made)
    return "released"


def test_bad_rows_of_a_released_set_are_left_out_and_listed(released: str) -> None:
    (portion,) = load_portions(released)
    assert [item.id for item in portion.items] == ["1"]
    rows = list_omitted_rows([portion])
    assert [(row.file, row.row, row.code) for row in rows if row.code != "duplicate-pair"] == [
        ("a.jsonl", "line 2", "duplicate-id"),
        ("a.jsonl", "line 3", "unknown-direction"),
        ("b.csv", "", "missing-column"),
    ]
    notes = describe_data_problems([portion], [portion])
    assert any("b.csv" in note for note in notes)
    assert any("2 rows of released" in note for note in notes)


def test_bad_rows_of_a_users_file_are_errors(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", [PAIR | {"id": "1"}, PAIR | {"id": "2", "direction": "up"}])
    with raises_mentioning(DataError, "own.jsonl, line 2, direction"):
        list(load_portions(str(path)))


def test_a_run_of_a_released_set_lists_its_bad_rows(released: str, causal: str) -> None:
    result = evaluate(causal, released)
    assert {row.row for row in result.manifest.left_out} == {"line 2", "line 3", ""}
