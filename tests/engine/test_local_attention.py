"""Models with sliding windows or chunks keep packed rows and shared prefixes, and see no farther in them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as t

from tests.engine.asked import ANSWERERS, CPU, assert_equals_forward_pass
from tests.models.tiny import made
from tiltmeter.engine.attention_masks import AttentionMasks, build_tree_mask
from tiltmeter.engine.batch_plan import LARGEST_TREE
from tiltmeter.questions import Question

SMALL: dict[str, Any] = {"vocab_size": 160, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SMALL |= {"intermediate_size": 24, "max_position_embeddings": 512, "pad_token_id": 0, "bos_token_id": 1}
SMALL |= {"eos_token_id": 2}
GROUPED = {**SMALL, "num_key_value_heads": 1, "head_dim": 8}
LOCAL_FIRST = ["sliding_attention", "full_attention"]


def gpt_oss(window: int) -> Any:
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1, "layer_types": LOCAL_FIRST}
    return t.GptOssForCausalLM(t.GptOssConfig(**GROUPED, **experts, sliding_window=window))


def llama4(chunk: int) -> Any:
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1, "intermediate_size_mlp": 24}
    layers = {"layer_types": ["chunked_attention", "full_attention"], "no_rope_layers": [1, 0]}
    return t.Llama4ForCausalLM(t.Llama4TextConfig(**GROUPED, **experts, **layers, attention_chunk_size=chunk))


MAKERS: dict[str, Callable[[int], Any]] = {
    "modernbert": lambda window: t.ModernBertForMaskedLM(
        t.ModernBertConfig(**SMALL, local_attention=window, cls_token_id=1, sep_token_id=2)
    ),
    "gemma2": lambda window: t.Gemma2ForCausalLM(t.Gemma2Config(**GROUPED, sliding_window=window)),
    "gemma3": lambda window: t.Gemma3ForCausalLM(
        t.Gemma3TextConfig(**GROUPED, sliding_window=window, layer_types=LOCAL_FIRST)
    ),
    "mistral": lambda window: t.MistralForCausalLM(t.MistralConfig(**GROUPED, sliding_window=window)),
    "gpt-oss": gpt_oss,
    "llama4": llama4,
}


def kind_of(name: str) -> str:
    return "masked" if name == "modernbert" else "causal"


@pytest.mark.parametrize("window", [16, 90, 128])
@pytest.mark.parametrize("name", MAKERS)
def test_rows_with_several_inputs_keep_the_window(name: str, window: int) -> None:
    def make() -> Any:
        return MAKERS[name](window)

    answerer = ANSWERERS[kind_of(name)](made(make), CPU)
    expected = {"packing"} if kind_of(name) == "masked" else {"packing", "prefixes"}
    assert expected <= set(answerer.speedups), answerer.disabled
    # Beyond the window, in trees of up to `LARGEST_TREE` tokens, and short inputs in packed rows.
    shared = tuple(4 + (7 * index) % 150 for index in range(LARGEST_TREE - 40))
    questions = [Question((*shared, a, *range(9, 18)), ((20, 3), (100, 5), (150, a), (160, 5))) for a in (40, 41, 42)]
    questions += [Question((*shared[:20], a, *shared[:40]), ((25, 3), (59, 4))) for a in (40, 41, 42)]
    questions += [Question((a, 5, 6), ((1, 2),)) for a in (7, 8, 9)]
    assert_equals_forward_pass(answerer, make, questions)


@pytest.mark.parametrize("name", ["gpt-oss", "mistral"])
def test_a_window_that_is_ignored_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deepest trees reach past every window that they can exceed."""
    monkeypatch.setattr(AttentionMasks, "list_mask_forms", lambda _self, _longest: ["full"])
    for window in (64, 90, 128, 170):
        answerer = ANSWERERS["causal"](made(lambda: MAKERS[name](window)), CPU)  # noqa: B023 - called at once
        assert "prefixes" in answerer.disabled


def test_a_window_as_wide_as_the_rows_needs_no_mask_of_its_own() -> None:
    masks = AttentionMasks.from_config(t.MistralConfig(sliding_window=192), causal=True)
    assert masks.list_mask_forms(191) == ["full"]
    assert masks.list_mask_forms(192) == ["local", "full"]
    assert AttentionMasks.from_config(t.LlamaConfig(), causal=True).list_mask_forms(10**6) == ["full"]
    gemma = AttentionMasks.from_config(t.Gemma2Config(sliding_window=10, num_hidden_layers=2), causal=True)
    assert gemma.list_mask_forms(20) == ["by layer type", "local", "full"]


def test_masks_by_position() -> None:
    positions = torch.tensor([[0, 1, 2, 3, 2, 3]])
    seen = build_tree_mask(torch.tensor([[6, 6, 4, 4, 6, 6]]))
    window = AttentionMasks(causal=True, window=2, form="local").build_mask(seen, positions, torch.float32)
    assert isinstance(window, torch.Tensor)
    allowed = [[key for key in range(6) if window[0, 0, query, key] == 0] for query in range(6)]
    assert allowed == [[0], [0, 1], [1, 2], [2, 3], [1, 4], [4, 5]]
    chunks = AttentionMasks(causal=True, chunk=2, form="local").build_mask(seen, positions, torch.float32)
    assert isinstance(chunks, torch.Tensor)
    allowed = [[key for key in range(6) if chunks[0, 0, query, key] == 0] for query in range(6)]
    assert allowed == [[0], [0, 1], [2], [2, 3], [4], [4, 5]]
    types = frozenset({"full_attention", "sliding_attention"})
    both = AttentionMasks(causal=True, window=2, layer_types=types, form="by layer type").build_mask(
        seen, positions, torch.float32
    )
    assert not isinstance(both, torch.Tensor)
    assert torch.equal(both["sliding_attention"], window)
    assert torch.equal(both["full_attention"], AttentionMasks(causal=True).build_mask(seen, positions, torch.float32))
