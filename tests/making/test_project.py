"""The start of a project."""

from pathlib import Path

import pytest

from perf.making_items import source_file
from tiltmeter.datasets import load_spec, parse_spec
from tiltmeter.forms import get_item_form
from tiltmeter.making.project import create_project, select_share


@pytest.mark.parametrize(("limit", "wanted"), [(1, (1, 0)), (3, (2, 1)), (4, (3, 1)), (5, (3, 2)), (9, (4, 2))])
def test_a_limit_takes_the_same_share_of_each_part(limit: int, wanted: tuple[int, int], tmp_path: Path) -> None:
    items = load_spec(parse_spec(str(source_file(tmp_path / "source.jsonl"))))
    chosen = select_share(items, limit)
    parts = [get_item_form(item).part_of(item) for item in chosen]
    assert (parts.count("intrasentence"), len(parts) - parts.count("intrasentence")) == wanted
    assert [item for item in items if item in chosen] == chosen, "the order is kept"
    assert select_share(items, None) == list(items)


def test_a_project_has_items_of_both_parts(tmp_path: Path) -> None:
    source = source_file(tmp_path / "source.jsonl")
    with create_project(tmp_path / "es", source, language="es", system="apertium:eng-xyz", limit=3) as project:
        assert len({entry.part for entry in project.store.list_items()}) == 2
