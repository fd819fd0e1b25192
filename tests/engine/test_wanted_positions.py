"""The vocabulary projection at wanted positions, compared with the logits of the whole model."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.engine.asked import ANSWERERS, CPU, MODELS, kind_of
from tests.models.tiny import CAUSAL, MASKED, VOCABULARY, made
from tiltmeter.engine.speedups import ALL, wanted_positions
from tiltmeter.engine.speedups.wanted_positions import ProjectingHead


def head_of(name: str, dtype: torch.dtype = torch.float32) -> tuple[ProjectingHead, Any, dict[str, Any]]:
    answerer: Any = ANSWERERS[kind_of(name)](made(MODELS[name]).to(dtype), CPU, ALL)
    return (
        ProjectingHead(answerer.model, answerer.model.get_output_embeddings()),
        answerer.model,
        answerer.build_example_inputs(),
    )


@torch.inference_mode()
@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])  # with a bias, without one, and an encoder-decoder
def test_logits_are_those_of_the_whole_model(name: str) -> None:
    head, model, example = head_of(name)
    assert head.matches_model(example)
    whole = model(**example).logits[0]
    rows = torch.tensor([0, 2])
    states = head.compute_states(example, rows, lambda _rows: nullcontext())
    assert states.shape[0] == 2
    torch.testing.assert_close(head.compute_logit_slice(states, 3, 20), whole[rows, 3:20])
    which, tokens = torch.tensor([1, 0, 1]), torch.tensor([0, 7, VOCABULARY - 1])
    torch.testing.assert_close(head.compute_token_logits(states, which, tokens), whole[rows[which], tokens])
    assert head.get_vocabulary_size(states) == VOCABULARY
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@torch.inference_mode()
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_half_precision_logits_are_padded_to_a_multiple_of_eight_with_minus_infinity(name: str) -> None:
    head, model, example = head_of(name, torch.bfloat16)
    states = head.compute_states(example, torch.tensor([1, 2]), lambda _rows: nullcontext())
    found = head.compute_all_logits(states)
    assert (found.dtype, found.shape) == (torch.float32, (2, 56))
    assert found[:, VOCABULARY:].eq(-torch.inf).all()
    projection = model.get_output_embeddings()
    expected = states.double() @ projection.weight.double().T
    if projection.bias is not None:
        expected += projection.bias.double()
    torch.testing.assert_close(found[:, :VOCABULARY].double(), expected, rtol=2e-2, atol=2e-2)


@torch.inference_mode()
def test_only_wanted_positions_leave_the_base_model() -> None:
    head, model, example = head_of("bert")
    seen: list[int] = []
    model.cls.predictions.transform.register_forward_pre_hook(lambda _module, args: seen.append(args[0].shape[1]))
    head.compute_states(example, torch.tensor([2]), lambda _rows: nullcontext())
    assert seen == [1]


@torch.inference_mode()
def test_a_head_that_needs_all_positions_gets_them() -> None:
    """The states that leave the base model are shifted by a position before they are projected."""
    head, model, example = head_of("bert")
    transform = model.cls.predictions.transform
    true_forward = transform.forward
    transform.forward = lambda states: true_forward(states.roll(1, dims=1))
    expected = model(**example).logits[0]
    assert head.matches_model(example)
    states = head.compute_states(example, torch.tensor([0, 2]), lambda _rows: nullcontext())
    torch.testing.assert_close(head.compute_logit_slice(states, 0, VOCABULARY), expected[[0, 2]])


@torch.inference_mode()
def test_a_base_model_without_last_hidden_state() -> None:
    head, model, example = head_of("gpt2")
    true_forward = model.transformer.forward

    class Output(tuple):
        """The states, by index alone."""

    model.transformer.forward = lambda *args, **named: Output([true_forward(*args, **named).last_hidden_state])
    model.forward = lambda **named: type("Output", (), {"logits": model.lm_head(model.transformer(**named)[0])})
    assert head.matches_model(example)
    assert head.compute_states(example, torch.tensor([1]), lambda _rows: nullcontext()).shape == (1, 16)


class _Changed(nn.Module):
    def __init__(self, model: Any, factor: float, added: float, more: int) -> None:
        super().__init__()
        self.model, self.factor, self.added, self.more = model, factor, added, more
        self.base_model = model.base_model

    def forward(self, **inputs: Any) -> Any:
        output = self.model(**inputs)
        output.logits = nn.functional.pad(output.logits * self.factor + self.added, (0, self.more))
        return output


@torch.inference_mode()
@pytest.mark.parametrize(
    ("factor", "added", "more", "fits"),
    [(1.0, 0.0, 0, True), (1.00001, 0.0, 0, False), (1.0, 5e-7, 0, True), (1.0, 1e-5, 0, False), (1.0, 0.0, 2, False)],
)
def test_a_model_that_changes_its_logits_after_the_projection_does_not_fit(
    factor: float, added: float, more: int, fits: bool
) -> None:
    _, model, example = head_of("bert")
    assert (
        ProjectingHead(_Changed(model, factor, added, more), model.get_output_embeddings()).matches_model(example)
        == fits
    )


def test_a_model_whose_projection_is_not_linear_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, make in (("bert", MASKED["bert"]), ("gpt2", CAUSAL["gpt2"])):
        answerer: Any = ANSWERERS[kind_of(name)](made(make), CPU, ALL)
        before = answerer.head
        monkeypatch.setattr(answerer.model, "get_output_embeddings", nn.Identity)
        assert wanted_positions.SPEEDUP.apply(answerer, None) is None
        assert answerer.head is before


def test_the_order_of_positions_is_kept_if_all_are_wanted() -> None:
    head, _, example = head_of("gpt2")
    with torch.inference_mode():
        backwards: Tensor = head.compute_states(example, torch.tensor([2, 1, 0]), lambda _rows: nullcontext())
        forwards = head.compute_states(example, torch.tensor([0, 1, 2]), lambda _rows: nullcontext())
    assert torch.equal(backwards.flip(0), forwards)
