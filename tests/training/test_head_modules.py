"""Modules of heads: loading of cores, and attention masks."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers as t

from tests.support.messages import raises_mentioning
from tests.training.made_task import make_model
from tiltmeter.engine.next_sentence_modules import MeanHead
from tiltmeter.errors import ModelError
from tiltmeter.models import next_sentence_model
from tiltmeter.models.checkpoint import Checkpoint
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.models.next_sentence_model import build_head_module

HEAD = HeadConfig(design="recommended", reading="mean", kind="causal", base="made", base_weights="")


@pytest.mark.parametrize("name", ["xlnet", "xlm"])
def test_padding_does_not_change_answers_of_bidirectional_cores(name: str) -> None:
    torch.manual_seed(0)
    core: torch.nn.Module
    if name == "xlnet":
        core = t.XLNetModel(t.XLNetConfig(vocab_size=30, d_model=32, n_layer=2, n_head=2, d_inner=64))
    else:
        core = t.XLMModel(t.XLMConfig(vocab_size=30, emb_dim=32, n_layers=2, n_heads=2, max_position_embeddings=64))
    module = build_head_module(core, None, HEAD).eval()
    ids = torch.tensor([[5, 6, 7, 8]])
    padded = torch.tensor([[5, 6, 7, 8, 0, 0, 0]])
    with torch.inference_mode():
        expected = module(ids, torch.tensor([4]))["logits"]
        torch.testing.assert_close(module(padded, torch.tensor([4]))["logits"], expected, atol=1e-5, rtol=1e-4)


def test_only_bidirectional_cores_get_a_mask(tmp_path: Path) -> None:
    class Unmasked(t.BertModel):
        def forward(self, input_ids: torch.Tensor) -> Any:  # type: ignore[override]
            return super().forward(input_ids)

    for name, expected in (("gpt2", False), ("llama", False), ("roberta", True)):
        folder = make_model(name, tmp_path / name)
        module = build_head_module(t.AutoModel.from_pretrained(folder), None, HEAD)
        assert isinstance(module, MeanHead)
        assert module.masked == expected
    config = t.BertConfig(vocab_size=30, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
    with raises_mentioning(ModelError, "made", "no attention mask"):
        build_head_module(Unmasked(config), None, HEAD)


def test_a_core_of_a_gguf_file_is_loaded_without_a_progress_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    core = torch.nn.Linear(1, 1)

    def load(_folder: str, **arguments: Any) -> Any:
        assert arguments["gguf_file"] == "model.gguf"
        print("0 of 272", file=sys.stderr)
        return core, {"missing_keys": [], "unexpected_keys": []}

    monkeypatch.setattr(next_sentence_model, "AutoModel", SimpleNamespace(from_pretrained=load, _model_mapping={}))
    checkpoint = Checkpoint("model.gguf", Path(), gguf="model.gguf")
    model = SimpleNamespace(name="m", config=None, dtype=torch.float32, checkpoint=checkpoint, trust_remote_code=False)
    assert next_sentence_model.load_core(model, HEAD) is core
    assert capsys.readouterr().err == ""
