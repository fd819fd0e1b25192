"""Overriding T5's relative position bias."""

from typing import Any

import torch
import transformers
from torch import Tensor, nn

from tiltmeter.engine.speedups.relative_positions import RelativePositions, _accepts_keywords

DEPTHS = torch.tensor([[0, 1, 2, 0, 1, 0]])
# The row has three inputs, of three, two and one tokens.
NUMBERS = torch.tensor([0, 0, 0, 1, 1, 2])
MASK = torch.where(NUMBERS[:, None] == NUMBERS, 0.0, torch.finfo(torch.float32).min)[None, None]


def encoder() -> Any:
    torch.manual_seed(1)
    config = transformers.T5Config(vocab_size=20, d_model=8, d_kv=4, d_ff=8, num_layers=4, num_heads=2)
    return transformers.T5EncoderModel(config).eval().encoder


@torch.no_grad()
def test_a_mask_is_added_to_the_bias_once_for_all_layers() -> None:
    stack = encoder()
    given: list[dict[str, Any]] = []

    def note(_module: nn.Module, _args: Any, named: dict[str, Any]) -> None:
        given.append(named)

    with RelativePositions(stack).use_positions(DEPTHS):
        for block in stack.block:
            block.layer[0].SelfAttention.register_forward_pre_hook(note, with_kwargs=True)
        stack(input_ids=torch.tensor([[3, 4, 5, 6, 7, 8]]), attention_mask=MASK)
    first, second, *others = given
    assert first["mask"] is not None
    assert second["mask"] is None
    assert all(other["position_bias"] is second["position_bias"] and other["mask"] is None for other in others)
    assert len(others) == 2


@torch.no_grad()
def test_the_encoder_is_restored_afterwards() -> None:
    stack = encoder()
    ids, positions = torch.tensor([[3, 4, 5]]), RelativePositions(stack)
    before = stack(input_ids=ids).last_hidden_state
    with positions.use_positions(DEPTHS):
        row = stack(input_ids=torch.tensor([[3, 4, 5, 6, 7, 8]]), attention_mask=MASK).last_hidden_state
    torch.testing.assert_close(row[:, :3], before)
    assert torch.equal(stack(input_ids=ids).last_hidden_state, before)
    assert not any(module._forward_pre_hooks for module in stack.modules())


class _Fixed(nn.Module):
    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        return states if mask is None else states + mask


class _Open(nn.Module):
    def forward(self, states: Tensor, **more: Any) -> Tensor:
        return states if not more else states + 1


def test_the_mask_is_joined_only_where_the_module_takes_further_keywords() -> None:
    assert _accepts_keywords(_Open())
    assert not _accepts_keywords(_Fixed())
