"""GGUF files are read faster, with the same result."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Stored
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from tiltmeter.errors import ModelError
from tiltmeter.models.gguf_files import reading_gguf
from tiltmeter.models.loading import open_model
from tiltmeter.models.text import tokenizer_digest

WIDTH, LAYERS, HEADS, INNER = 32, 2, 4, 64
TOKENS = ["<|endoftext|>", *"abcdehlnorstu", "Ġ", "th", "the", "nu", "rs", "nurs", "nurse"]
MERGES = ["t h", "th e", "n u", "r s", "nu rs", "nurs e"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model in the layout of Llama, with tensors in two quantised formats and in float32."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3] + [1] * (len(TOKENS) - 1))
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    random = np.random.default_rng(0)

    def add(name: str, *shape: int, stored: Stored = Stored.F32) -> None:
        numbers = random.normal(size=shape).astype(np.float32)
        if stored == Stored.F32:
            writer.add_tensor(name, numbers)
        else:
            writer.add_tensor(name, gguf.quants.quantize(numbers, stored), raw_dtype=stored)

    add("token_embd.weight", len(TOKENS), WIDTH, stored=Stored.Q8_0)
    add("output_norm.weight", WIDTH)
    for layer in range(LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{part}.weight", WIDTH, WIDTH, stored=Stored.Q4_1)
        add(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH, stored=Stored.Q4_1)
        add(f"blk.{layer}.ffn_up.weight", INNER, WIDTH, stored=Stored.Q8_0)
        add(f"blk.{layer}.ffn_down.weight", WIDTH, INNER, stored=Stored.Q8_0)
        add(f"blk.{layer}.attn_norm.weight", WIDTH)
        add(f"blk.{layer}.ffn_norm.weight", WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


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
