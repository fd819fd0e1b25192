"""The items of `perf.run_memory`; `tests/runs/test_chunks.py` counts the questions in memory."""

from pathlib import Path

import pytest

from perf.run_memory import FORMS, made_items, write_items
from tiltmeter.datasets.dataset_loader import load_file


@pytest.mark.parametrize("form", FORMS)
def test_synthetic_items_are_valid(form: str, tmp_path: Path) -> None:
    items = load_file(write_items(form, 30, tmp_path / "items.jsonl"))
    assert [item.id for item in items] == [entry["id"] for entry in made_items(form, 30)]
