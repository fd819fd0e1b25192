"""GGUF files are read faster, with the same result."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from tests.models.tiny_gguf import write_gguf
from tiltmeter.errors import ModelError
from tiltmeter.models.gguf_files import reading_gguf
from tiltmeter.models.loading import open_model
from tiltmeter.models.text import tokenizer_digest

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
        assert tokenizer_digest(model.tokenizer) == tokenizer_digest(tokenizer)
        assert model.tokenizer.tokenize("the nurse") == tokenizer.tokenize("the nurse") == ["the", "Ġ", "nurse"]
        own, other = model.config.to_dict(), config.to_dict()
        assert {key for key in own if own[key] != other.get(key)} <= {"_name_or_path", "dtype"}
        loaded = model._module("causal").state_dict()
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
    with reading_gguf(arguments(file)):
        assert gguf.GGUFReader is not names[0]
        for _ in range(2):
            reader = gguf.GGUFReader(str(file))
        assert type(reader.tensors[0].data) is np.ndarray
    assert len(read) == 1
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == names
    with pytest.raises(KeyError), reading_gguf(arguments(file)):
        raise KeyError
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == names


def test_a_folder_is_left_to_transformers() -> None:
    reader = gguf.GGUFReader
    with reading_gguf({"pretrained_model_name_or_path": "folder"}):
        assert gguf.GGUFReader is reader


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"no such format")
    with pytest.raises(ModelError, match=r"The config of .*bad\.gguf cannot be read"):
        open_model(str(tmp_path / "bad.gguf"), cache=tmp_path / "cache")
