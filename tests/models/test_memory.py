"""How many tokens go at once: what fits, but no more than serves the device."""

import pytest
import torch

from tests.models.tiny import CAUSAL, SEQ2SEQ, made
from tiltmeter.models import memory

_PLENTY = 1 << 40


def _tokens(monkeypatch: pytest.MonkeyPatch, free: int, kind: str = "causal", device: str = "cpu") -> int:
    monkeypatch.setattr(memory, "_free_memory", lambda _device: free)
    model = made(SEQ2SEQ["t5"] if kind == "seq2seq" else CAUSAL["gpt2"])
    return memory.batch_tokens(model, torch.device(device))


def test_with_plenty_of_memory_the_device_tells_and_on_a_gpu_the_number_of_stacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _tokens(monkeypatch, _PLENTY) == _tokens(monkeypatch, _PLENTY, "seq2seq") == 2048
    assert _tokens(monkeypatch, _PLENTY, "causal", "cuda") == 32_768
    assert _tokens(monkeypatch, _PLENTY, "seq2seq", "cuda") == 65_536


def test_less_memory_means_fewer_tokens_but_some(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [_tokens(monkeypatch, free, "seq2seq", "cuda") for free in (_PLENTY, 1 << 28, 1 << 25, 1 << 22, 0)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[2] > found[-1] == 128
    assert all(tokens & (tokens - 1) == 0 for tokens in found)
    # A little less free memory changes no batch.
    assert _tokens(monkeypatch, (1 << 25) - (1 << 20), "seq2seq", "cuda") == found[2]
