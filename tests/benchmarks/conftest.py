"""Tiny models with random weights, shared by the tests of benchmarks."""

from typing import Any

import pytest
import transformers as t

from tests.models.tiny import made


@pytest.fixture(scope="session")
def bert() -> Any:
    config = t.BertConfig(
        vocab_size=60, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24
    )
    return made(lambda: t.BertForMaskedLM(config))


@pytest.fixture(scope="session")
def gpt2() -> Any:
    return made(lambda: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=2)))
