"""Fixtures: a project with a few items of both parts, and a function that runs commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perf.breaking_engine import BreakingEngine
from perf.making_items import source_file
from tests.support.command import Run, command
from tiltmeter.making.project import Project, create_project
from tiltmeter.making.translation_step import translate_project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    source = source_file(tmp_path / "source.jsonl")
    with create_project(tmp_path / "es", source, language="es", system="apertium:eng-xyz") as made:
        yield made


@pytest.fixture
def translated(project: Project) -> Project:
    """Every placeholder is lost and every blank restored, so the four items with a blank have an open problem."""
    translate_project(project, BreakingEngine(way="dropped"))
    return project


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert command(monkeypatch, *words) == code
        captured = capsys.readouterr()
        return captured.out if code == 0 else captured.err

    return run
