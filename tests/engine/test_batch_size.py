"""Tokens per batch: what fits into memory, up to a maximum for the kind of model and device."""

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.models.tiny import CAUSAL, SEQ2SEQ, made
from tiltmeter.engine import batch_size
from tiltmeter.questions import KINDS, Kind

_PLENTY = 1 << 40  # bytes


def _tokens(monkeypatch: pytest.MonkeyPatch, free: int, kind: Kind, device: str) -> int:
    monkeypatch.setattr(batch_size, "_measure_free_memory", lambda _device: free)
    model = made(SEQ2SEQ["t5"] if kind == "seq2seq" else CAUSAL["gpt2"])
    return batch_size.estimate_batch_tokens(model, kind, torch.device(device))


def test_with_enough_memory_the_maximum_depends_on_kind_and_device(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {kind: [_tokens(monkeypatch, _PLENTY, kind, device) for device in ("cpu", "cuda")] for kind in KINDS}
    assert all(on_processor < elsewhere for on_processor, elsewhere in found.values())
    assert len({on_processor for on_processor, _ in found.values()}) == 1
    # A next-sentence batch is quick to prepare, and an encoder-decoder has two stacks.
    assert found["seq2seq"][1] == 2 * found["next-sentence"][1] == 4 * found["causal"][1] == 4 * found["masked"][1]


def test_less_memory_means_fewer_tokens_down_to_a_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [_tokens(monkeypatch, free, "seq2seq", "cuda") for free in (_PLENTY, 1 << 28, 1 << 25, 1 << 22, 0)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[2] > found[-1] == 128
    assert all(tokens & (tokens - 1) == 0 for tokens in found)
    # A small change of free memory changes no batch.
    assert _tokens(monkeypatch, (1 << 25) - (1 << 20), "seq2seq", "cuda") == found[2]


def _without_sysconf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.delattr(os, "sysconf_names")


def _without_page_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_name: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)


def _without_page_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda _name: -1 if "PAGES" in _name else 4096)


@pytest.mark.parametrize("system", [_without_sysconf, _without_page_names, _without_page_counts])
def test_a_system_that_does_not_report_free_memory(
    system: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    system(monkeypatch)
    assert batch_size.estimate_batch_tokens(made(CAUSAL["gpt2"]), "causal", torch.device("cpu")) == 2048


def test_logits_at_all_positions_take_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_size, "_measure_free_memory", lambda _device: 1 << 21)
    model = made(CAUSAL["gpt2"])
    sliced, everywhere = (
        batch_size.estimate_batch_tokens(model, "causal", torch.device("cpu"), logits_everywhere=whole)
        for whole in (False, True)
    )
    assert everywhere < sliced


def test_the_bytes_of_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(SEQ2SEQ["t5"])
    widths = [sum(part.weight.shape) for part in model.modules() if isinstance(part, torch.nn.Linear)]
    inner = max(width for width in widths if width != sum(model.lm_head.weight.shape))
    for dtype, size in ((torch.float32, 4), (torch.bfloat16, 2)):
        for everywhere in (False, True):
            each = 6 * inner * size + (8 * len(model.lm_head.weight) if everywhere else 0)
            for tokens in (256, 1000, 1024):
                # A quarter of what is free holds so many tokens, or one less.
                for free, expected in ((tokens * each * 4, tokens), (tokens * each * 4 - 4, tokens - 1)):
                    monkeypatch.setattr(batch_size, "_measure_free_memory", lambda _device, free=free: free)
                    found = batch_size.estimate_batch_tokens(
                        model.to(dtype), "seq2seq", torch.device("cpu"), logits_everywhere=everywhere
                    )
                    assert found == max(2**power for power in range(12) if 2**power <= expected)


def test_a_model_without_linear_layers_or_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_size, "_measure_free_memory", lambda _device: 1024 * 4 * 6 * 4)
    assert batch_size.estimate_batch_tokens(torch.nn.Embedding(3, 2), "masked", torch.device("cpu")) == 1024


def test_a_projection_without_weights_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = torch.nn.Embedding(3, 2)
    model.get_output_embeddings = lambda: None
    monkeypatch.setattr(batch_size, "_measure_free_memory", lambda _device: 1024 * 4 * 6 * 4)
    assert batch_size.estimate_batch_tokens(model, "masked", torch.device("cpu"), logits_everywhere=True) == 1024


@pytest.mark.parametrize("names", [{"SC_AVPHYS_PAGES": 86, "SC_PHYS_PAGES": 85}, {"SC_PHYS_PAGES": 85}])
@pytest.mark.parametrize(("page", "free", "all_pages"), [(4096, 500, 1000), (1, 1, 3), (4096, 0, 0)])
def test_free_memory_is_that_of_the_free_pages_if_they_are_told(
    names: dict[str, int], page: int, free: int, all_pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"SC_PAGE_SIZE": page, "SC_AVPHYS_PAGES": free, "SC_PHYS_PAGES": all_pages}
    monkeypatch.setattr(os, "sysconf_names", names)
    monkeypatch.setattr(os, "sysconf", told.__getitem__)
    pages = free if "SC_AVPHYS_PAGES" in names else all_pages
    assert batch_size._measure_free_memory(torch.device("cpu")) == (page * pages or batch_size._ASSUMED_FREE)


def test_free_memory_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _device: (123, 456))
    assert batch_size._measure_free_memory(torch.device("cuda")) == 123
