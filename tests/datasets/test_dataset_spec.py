from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets.dataset_spec import Spec, parse_spec, replace_edition
from tiltmeter.errors import UsageError


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("stereoset", Spec("stereoset", None, ())),
        ("stereoset:de", Spec("stereoset", None, ("de",))),
        ("stereoset:de, fr,de", Spec("stereoset", None, ("de", "fr"))),
        ("stereoset/intrasentence", Spec("stereoset", "intrasentence", ())),
        ("stereoset/nonsense:de", Spec("stereoset", "nonsense", ("de",))),
        ("gest-1.0", Spec("gest-1.0", None, ())),
        ("gest/template-3:en", Spec("gest", "template-3", ("en",))),
        ("mine.jsonl/template-3", Spec("mine.jsonl", "template-3", (), Path("mine.jsonl"))),
        ("mine.jsonl", Spec("mine.jsonl", None, (), Path("mine.jsonl"))),
        ("a/mine.jsonl:pt-BR", Spec("a/mine.jsonl", None, ("pt-BR",), Path("a/mine.jsonl"))),
        ("mine.jsonl/intersentence:de", Spec("mine.jsonl", "intersentence", ("de",), Path("mine.jsonl"))),
        ("~/mine.jsonl", Spec("~/mine.jsonl", None, (), Path.home() / "mine.jsonl")),
        ("C:/mine.jsonl", Spec("C:/mine.jsonl", None, (), Path("C:/mine.jsonl"))),
    ],
)
def test_specifications(text: str, spec: Spec) -> None:
    assert parse_spec(text) == spec


@pytest.mark.parametrize(
    ("text", "edition", "expected"),
    [
        ("gest:en", None, "gest:en"),
        ("gest:en", "1.0", "gest-1.0:en"),
        ("gest/template-3:en", "1.0", "gest-1.0/template-3:en"),
        ("gest-1.0", "1.1", "gest"),
        ("gest-pairs:sk", "1.0", "gest-pairs:sk"),
        ("stereoset:de", "1.0", "stereoset:de"),
        ("gest.jsonl", "1.0", "gest.jsonl"),
    ],
)
def test_editions_of_gest(text: str, edition: str | None, expected: str) -> None:
    assert replace_edition([text, "gest"], edition)[0] == expected


def test_there_are_two_editions() -> None:
    with raises_mentioning(UsageError, "edition '2'", "1.0 and 1.1"):
        replace_edition(["gest"], "2")


def test_an_edition_is_of_gest() -> None:
    with raises_mentioning(UsageError, "GEST", "stereoset:en, starter"):
        replace_edition(["stereoset:en", "starter"], "1.0")


def test_a_path_that_exists_is_a_file_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "items"
    path.touch()
    assert parse_spec(f"{path}:de") == Spec(str(path), None, ("de",), path)


def test_a_file_does_not_hide_a_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stereoset").touch()
    assert parse_spec("stereoset").path is None


@pytest.mark.parametrize("text", ["stereoset:", "stereoset: ,", "", ":de", "./nowhere.txt", "/nowhere/at/all"])
def test_invalid_specifications(text: str) -> None:
    with pytest.raises(UsageError):
        parse_spec(text)
