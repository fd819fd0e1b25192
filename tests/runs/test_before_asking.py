"""Checks before the first answer: all models, duplicates, and the output folder."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.engine import answerer
from tiltmeter.errors import ModelError, TiltmeterError, UsageError
from tiltmeter.runs.duplicates import reject_same_models
from tiltmeter.runs.evaluate import evaluate

ON = "starter/intrasentence:en"


@pytest.fixture(autouse=True)
def _no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make answering an error."""

    def never(*_: Any) -> Any:
        raise AssertionError("a model was asked")

    monkeypatch.setattr(answerer.Answerer, "start_batch", never)


def test_an_invalid_last_model_stops_the_run_before_the_first_is_asked(causal: str, tmp_path: Path) -> None:
    with raises_mentioning(ModelError, "nowhere"):
        evaluate([causal, str(tmp_path / "nowhere!")], ON, limit=2)
    broken = shutil.copytree(causal, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"x")
    with raises_mentioning(ModelError, "broken", "safetensors"):
        evaluate([causal, str(broken)], ON, limit=2)


def test_the_same_model_twice_is_rejected(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(causal).parent)
    with raises_mentioning(UsageError, causal, "same model"):
        evaluate([causal, Path(causal).name], ON, limit=2)
    copy = shutil.copytree(causal, tmp_path / "copy")
    with raises_mentioning(UsageError, str(copy), "same model", "identical files"):
        evaluate([causal, str(copy)], ON, limit=2)


class _Answering:
    """A model that has a fingerprint for each kind of question."""

    def __init__(self, name: str, **fingerprints: str) -> None:
        self.name, self.kinds, self._fingerprints = name, tuple(fingerprints), fingerprints

    def fingerprint(self, kind: str) -> str:
        return self._fingerprints[kind]


def test_models_are_the_same_only_if_they_answer_all_kinds_of_questions_equally() -> None:
    base = _Answering("base", causal="a")
    heads = [_Answering(name, causal="a", next_sentence=name) for name in ("one", "two")]
    reject_same_models([base, *heads])  # type: ignore[list-item]
    with raises_mentioning(UsageError, "one and copy"):
        reject_same_models([*heads, _Answering("copy", causal="a", next_sentence="one")])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("on", "message"),
    [
        (["starter:en", "starter/intrasentence:en"], "share 40 items"),
        (["starter:en,de", "starter:de"], "share 40 items"),
        ([ON, ON], f"{ON} is given twice"),
    ],
)
def test_benchmarks_that_share_items_are_rejected(on: list[str], message: str, causal: str) -> None:
    with raises_mentioning(UsageError, message):
        evaluate(causal, on)


def test_one_file_by_two_paths_is_rejected(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiltmeter.datasets.dataset_loader import load
    from tiltmeter.datasets.readers.jsonl import write_jsonl

    write_jsonl(load("starter", "intrasentence", "en")[:2], tmp_path / "mine.jsonl")
    monkeypatch.chdir(tmp_path)
    with raises_mentioning(UsageError, "share 2 items"):
        evaluate(causal, ["mine.jsonl", str(tmp_path / "mine.jsonl")])


def test_a_folder_that_cannot_be_written_is_rejected(causal: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in ("file", "file/run", "x" * 300):
        with pytest.raises(UsageError):
            evaluate(causal, ON, limit=2, out=tmp_path / out)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_vocabulary_larger_than_the_embeddings_is_named(causal: str, tmp_path: Path) -> None:
    import json

    folder = shutil.copytree(causal, tmp_path / "m")
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {token: index + 9000 for token, index in vocabulary.items()}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    with raises_mentioning(TiltmeterError, "tokens"):
        evaluate(str(folder), ON, limit=2)
