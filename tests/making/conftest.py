"""Fixtures: a project with a few items of both parts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perf.making_items import source_file
from tiltmeter.making.project import Project, new_project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    source = source_file(tmp_path / "source.jsonl")
    with new_project(tmp_path / "es", source, language="es", system="apertium:eng-xyz") as made:
        yield made
