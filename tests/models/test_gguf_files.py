"""GGUF files are read faster, with the same result."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from tests.models.tiny_gguf import write_gguf
from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.models.gguf_files import read_gguf_once
from tiltmeter.models.tokenizer_text import compute_tokenizer_digest

TOKENS = ["<|endoftext|>", *"abcdehlnorstu", "Ġ", "th", "the", "nu", "rs", "nurs", "nurse"]
MERGES = ["t h", "th e", "n u", "r s", "nu rs", "nurs e"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", TOKENS, MERGES)


def arguments(file: Path) -> dict[str, str]:
    return {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}


def test_config_tokenizer_and_weights_are_those_that_transformers_reads(file: Path, tmp_path: Path) -> None:
    files = arguments(file)
    weights = AutoModelForCausalLM.from_pretrained(**files).state_dict()
    tokenizer = AutoTokenizer.from_pretrained(**files)
    config = AutoConfig.from_pretrained(**files)
    for cache in (None, tmp_path):
        model = open_model(str(file), cache=cache)
        assert compute_tokenizer_digest(model.tokenizer) == compute_tokenizer_digest(tokenizer)
        assert model.tokenizer.tokenize("the nurse") == tokenizer.tokenize("the nurse") == ["the", "Ġ", "nurse"]
        own, other = model.config.to_dict(), config.to_dict()
        assert {key for key in own if own[key] != other.get(key)} <= {"_name_or_path", "dtype"}
        loaded = model._load_module("causal").state_dict()
        assert loaded.keys() == weights.keys()
        assert all(torch.equal(loaded[name], weights[name]) for name in weights)
        assert any(loaded[name].abs().sum() > 0 for name in weights)


def test_a_file_is_read_once_and_the_package_is_as_before(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    original = gguf.GGUFReader.__init__

    def noted(self: Any, *given: Any, **named: Any) -> None:
        read.append(given)
        original(self, *given, **named)

    monkeypatch.setattr(gguf.GGUFReader, "__init__", noted)
    names = gguf.GGUFReader, gguf.get_tensor_name_map
    with read_gguf_once(arguments(file)):
        assert gguf.GGUFReader is not names[0]
        for _ in range(2):
            reader = gguf.GGUFReader(str(file))
        assert type(reader.tensors[0].data) is np.ndarray
    assert len(read) == 1
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == names
    with pytest.raises(KeyError), read_gguf_once(arguments(file)):
        raise KeyError
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == names


def test_a_folder_is_left_to_transformers() -> None:
    reader = gguf.GGUFReader
    with read_gguf_once({"pretrained_model_name_or_path": "folder"}):
        assert gguf.GGUFReader is reader


def test_a_file_in_another_format_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"no such format")
    with raises_mentioning(ModelError, f"config of {tmp_path / 'bad.gguf'}"):
        open_model(str(tmp_path / "bad.gguf"), cache=tmp_path / "cache")


def extracted(cache: Path) -> Path:
    (folder,) = (cache / "gguf").iterdir()
    return folder


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: change(folder / "tokenizer.json"),
        lambda folder: change(folder / "config.json"),
        lambda folder: (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes()[:500]),
        lambda folder: (folder / "tokenizer.json").unlink(),
        lambda folder: (folder / "added_tokens.json").write_text('{"nurse": 3}'),
        lambda folder: (folder / "digests.json").write_text("{"),
        lambda folder: (folder / "digests.json").unlink(),
        shutil.rmtree,
        lambda folder: change(folder / "digests.json", "transformers"),
    ],
)
def test_damaged_files_in_the_cache_are_extracted_again(
    damage: Callable[[Path], object], file: Path, tmp_path: Path
) -> None:
    sound = open_model(str(file), cache=tmp_path)
    folder = extracted(tmp_path)
    contents = {part.name: part.read_bytes() for part in folder.iterdir()}
    damage(folder)
    again = open_model(str(file), cache=tmp_path)
    assert compute_tokenizer_digest(again.tokenizer) == compute_tokenizer_digest(sound.tokenizer)
    assert again.config.to_dict() == sound.config.to_dict()
    assert {part.name: part.read_bytes() for part in extracted(tmp_path).iterdir()} == contents


def change(file: Path, word: str = "nurse") -> None:
    """Change a word, or a number, of a JSON file."""
    text = file.read_text(encoding="utf-8")
    other = text.replace(word, word[::-1]) if word in text else text.replace("64", "65")
    assert other != text
    file.write_text(other, encoding="utf-8")


def test_sound_files_in_the_cache_are_not_extracted_again(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_model(str(file), cache=tmp_path)
    monkeypatch.setattr("tiltmeter.models.gguf_files._write_config_files", None)
    open_model(str(file), cache=tmp_path)


def test_a_damaged_cache_that_cannot_be_written_is_not_used(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = open_model(str(file), cache=tmp_path)
    change(extracted(tmp_path) / "tokenizer.json")
    monkeypatch.setattr("tiltmeter.models.gguf_files.create_shared_folder", fail)
    assert compute_tokenizer_digest(open_model(str(file), cache=tmp_path).tokenizer) == compute_tokenizer_digest(
        sound.tokenizer
    )


def fail(path: Path) -> None:
    raise UsageError(f"{path} cannot be written")
