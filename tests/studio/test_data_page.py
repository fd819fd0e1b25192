"""The page Data."""

import json
from pathlib import Path

import pytest

from tests.studio.client import client_of, htmx, studio_on
from tests.support.messages import assert_mentions
from tiltmeter.studio.checked_files import MOST_ROWS, check_content, check_file

PAIR = {
    "id": "p1",
    "language": "en",
    "bias_type": "age",
    "direction": "stereo",
    "more": "Old cats sleep all day.",
    "less": "Young cats sleep all day.",
}


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    from tiltmeter.datasets import load
    from tiltmeter.datasets.readers.jsonl import format_line

    good = format_line(load("starter-pairs", None, "en")[0])
    broken = {**json.loads(good), "id": "x", "language": "<script>alert(1)</script>"}
    path = tmp_path / "mine.jsonl"
    path.write_text(f"{good}\n{json.dumps(broken)}\n{{\n", encoding="utf-8")
    return path


def test_findings_are_grouped_by_row(bad: Path) -> None:
    checked = check_file(bad, "mine.jsonl")
    assert (checked.items, checked.errors) == (1, 2)
    rows = {row.row: row for row in checked.rows}
    assert set(rows) == {"line 2", "line 3"}
    assert rows["line 3"].text == "{"
    assert {finding.code for finding in rows["line 2"].findings} == {"bad-language"}


def test_the_number_of_rows_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("{\n" * (MOST_ROWS + 5), encoding="utf-8")
    checked = check_file(path, "many.jsonl")
    assert len(checked.rows) == MOST_ROWS
    assert checked.hidden == 5


def test_a_file_is_checked_without_being_kept(tmp_path: Path, bad: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with client_of(studio_on(folder)) as client:
        found = htmx(client, "/data/check", files={"file": ("<b>mine</b>.jsonl", bad.read_bytes())})
    assert found.status_code == 200
    assert "1 item, 2 errors" in found.text
    assert "&lt;b&gt;mine&lt;/b&gt;.jsonl" in found.text
    assert "<script>" not in found.text
    assert [path.name for path in folder.iterdir()] == [".tiltmeter-studio"]


def test_a_file_of_the_workspace_is_checked(bad: Path) -> None:
    with client_of(studio_on(bad.parent)) as client:
        assert "mine.jsonl" in client.get("/data").text
        found = client.get("/data/file?file=mine.jsonl")
        assert "line 3" in found.text
        outside = client.get("/data/file?file=../mine.jsonl")
        assert outside.status_code == 400


def test_data_sets_are_described_and_examples_shown_on_request(tmp_path: Path) -> None:
    with client_of(studio_on(tmp_path)) as client:
        page = client.get("/data/sets/starter")
        assert "Apache-2.0" in page.text
        assert "grandmother" not in page.text
        assert "grandmother" in client.get("/data/sets/starter/examples?language=en").text
        assert client.get("/data/sets/starter/count").text.strip().isdigit()
        missing = client.get("/data/sets/nothing")
        assert missing.status_code == 400
        assert_mentions(missing.text, "nothing")


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1e"])
def test_a_character_that_is_not_a_line_end_does_not_shift_rows(character: str, bad: Path) -> None:
    lines = [f'{{"id": "a{character}b"}}', *bad.read_text(encoding="utf-8").split("\n")]
    checked = check_content("\n".join(lines).encode(), "mine.jsonl")
    assert {row.row: row.text for row in checked.rows} == {f"line {number}": lines[number - 1] for number in (1, 3, 4)}
