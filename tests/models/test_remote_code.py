"""A model whose code comes with it, with a position limit: it runs if that code is trusted."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.models.tiny_tokenizers import word_level
from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.runs.evaluate import evaluate

LIMIT = 40
CONFIG = """
from transformers import PretrainedConfig

class MineConfig(PretrainedConfig):
    model_type = "mine"

    def __init__(self, vocab_size=50, hidden_size=8, max_position_embeddings=40, **rest):
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.num_hidden_layers, self.max_position_embeddings = 1, max_position_embeddings
        super().__init__(**rest)
"""
MODEL = """
import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput
from .configuration_mine import MineConfig

class MineForCausalLM(PreTrainedModel):
    config_class = MineConfig

    def __init__(self, config):
        super().__init__(config)
        READS
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.mix = nn.GRU(config.hidden_size, config.hidden_size, batch_first=True)
        self.head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.embed

    def get_output_embeddings(self):
        return self.head

    def forward(self, input_ids=None, attention_mask=None, **rest):
        where = torch.arange(input_ids.shape[1], device=input_ids.device)
        hidden, _ = self.mix(self.embed(input_ids) + self.position(where))
        return CausalLMOutput(logits=self.head(hidden))
"""
# transformers loads such a model; one without weights cannot be made, since this number is read from a tensor.
READS = "self.rate = torch.linspace(0, 1, 3)[1].item()"


@pytest.fixture(params=["pass", READS], ids=["plain", "reads a tensor"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    # transformers keeps the code of a process by the name of its folder.
    path = tmp_path / f"mine{request.param_index}"
    path.mkdir()
    tokenizer = word_level(bos_token="<s>")
    tokenizer.save_pretrained(path)
    size = 50
    (path / "configuration_mine.py").write_text(CONFIG)
    (path / "modeling_mine.py").write_text(MODEL.replace("READS", request.param))
    names = {"AutoConfig": "configuration_mine.MineConfig", "AutoModelForCausalLM": "modeling_mine.MineForCausalLM"}
    config = {"model_type": "mine", "architectures": ["MineForCausalLM"], "auto_map": names, "vocab_size": size}
    (path / "config.json").write_text(json.dumps(config))
    shapes = {"embed.weight": (size, 8), "position.weight": (LIMIT, 8), "head.weight": (size, 8)}
    shapes |= {f"mix.weight_{which}_l0": (24, 8) for which in ("ih", "hh")}
    shapes |= {f"mix.bias_{which}_l0": (24,) for which in ("ih", "hh")}
    torch.manual_seed(0)
    save_file(
        {name: torch.randn(shape) for name, shape in shapes.items()}, path / "model.safetensors", {"format": "pt"}
    )
    return str(path)


def test_it_runs_if_it_is_trusted(folder: str) -> None:
    result = evaluate(folder, "starter/intrasentence:en", limit=4, device="cpu", trust_remote_code=True)
    assert result.scores["item"].nunique() == 4
    assert open_model(folder, trust_remote_code=True).max_length in (LIMIT, LIMIT - 1)


def test_it_is_not_run_otherwise(folder: str) -> None:
    with raises_mentioning(ModelError, folder, "--trust-remote-code"):
        evaluate(folder, "starter/intrasentence:en", limit=4, device="cpu")


def test_a_loaded_one_needs_no_further_trust(folder: str) -> None:
    opened = open_model(folder, trust_remote_code=True)
    module = opened._load_module("causal")
    result = evaluate((module, opened.tokenizer), "starter/intrasentence:en", limit=4)
    assert result.manifest.models[0].details["parameters"] == sum(p.numel() for p in module.parameters())
