"""Files that are anything but what a format wants: every reader says so."""

from pathlib import Path

import pytest

from perf.bad_input_cases.data import GARBAGE
from tiltmeter.datasets.readers import FORMATS, validate_file
from tiltmeter.errors import DataError


@pytest.mark.parametrize("format_name", FORMATS)
def test_no_reader_takes_garbage_for_items(format_name: str, tmp_path: Path) -> None:
    for name, content in GARBAGE.items():
        path = tmp_path / f"{name.replace(' ', '-').replace('*', 'x')}.txt"
        path.write_bytes(content)
        try:
            examined = validate_file(path, format_name, "en")
        except DataError:
            continue
        assert examined.errors, name


def test_a_null_character_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(
        '{"id": "1", "language": "en", "stereotype": 1, "sentence": "I like\\u0000 tea."}', encoding="utf-8"
    )
    assert [found.code for found in validate_file(path, "jsonl", "en").errors] == ["bad-encoding"]
