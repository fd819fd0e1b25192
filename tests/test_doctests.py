"""The examples in all docstrings produce the documented output."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from tests.runs.made import chosen_scores, run, saved
from tests.support.modules import list_modules

MODULES = ["tiltmeter", *list_modules()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs that the examples use."""
    folder = tmp_path_factory.mktemp("examples")
    for name, share in {"bert": 62.0, "roberta": 51.0}.items():
        saved(folder / "runs" / name, run(chosen_scores(name, share, n=400, targets=100)))
    return folder


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    failed = doctest.testmod(import_module(name)).failed
    assert not failed, f"{failed} examples of {name} fail:\n{capsys.readouterr().out}"
