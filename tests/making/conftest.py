"""Fixtures: a project with a few items of both parts, and commands with what they print."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perf.making_items import source_file
from tests.support.command import Run, command
from tiltmeter.making.project import Project, create_project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    source = source_file(tmp_path / "source.jsonl")
    with create_project(tmp_path / "es", source, language="es", system="apertium:eng-xyz") as made:
        yield made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert command(monkeypatch, *words) == code
        captured = capsys.readouterr()
        return captured.out if code == 0 else captured.err

    return run
