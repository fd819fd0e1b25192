"""Models whose numbers depend on padding or on other inputs are sent batches in which they do not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as t
from torch import Tensor, nn

from tests.engine.asked import ANSWERERS, CPU, assert_equals_forward_pass, random_questions
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, VOCABULARY, made
from tests.support.messages import raises_mentioning
from tiltmeter.engine.batch_effects import BatchEffects
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_plan import plan_batches
from tiltmeter.engine.batch_rows import Batch
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.seq2seq import Seq2seqAnswerer
from tiltmeter.engine.speedups import ALL
from tiltmeter.errors import ModelError
from tiltmeter.questions import Ids, Kind, Question

SMALL: dict[str, Any] = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "pad_token_id": 0}
SMALL |= {"num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 64}


def convbert() -> Any:
    return t.ConvBertForMaskedLM(t.ConvBertConfig(**SMALL, embedding_size=16, conv_kernel_size=5, head_ratio=1))


def nystromformer() -> Any:
    landmarks = {"num_landmarks": 64, "conv_kernel_size": 5, "segment_means_seq_len": 64}
    return t.NystromformerForMaskedLM(t.NystromformerConfig(**SMALL, **landmarks))


def fnet() -> Any:
    without = {name: value for name, value in SMALL.items() if name != "num_attention_heads"}
    return t.FNetForMaskedLM(t.FNetConfig(**without))


def mobilebert() -> Any:
    sizes = {**SMALL, "hidden_size": 32, "embedding_size": 16, "intra_bottleneck_size": 16, "intermediate_size": 48}
    return t.MobileBertForMaskedLM(t.MobileBertConfig(**sizes))


def funnel() -> Any:
    sizes = {"vocab_size": VOCABULARY, "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 24, "block_sizes": [1, 1, 1]}
    return t.FunnelForMaskedLM(t.FunnelConfig(**sizes))


LEAKING: dict[str, Callable[[], Any]] = {
    "fnet": fnet,
    "convbert": convbert,
    "nystromformer": nystromformer,
    "mobilebert": mobilebert,
    "funnel": funnel,
}


@pytest.mark.parametrize("without", [(), ALL], ids=["fast", "plain"])
@pytest.mark.parametrize("name", LEAKING)
def test_padding_that_changes_numbers_is_not_used(name: str, without: Any) -> None:
    answerer = MaskedAnswerer(made(LEAKING[name]), CPU, without)
    assert not answerer.layout.pads
    assert answerer.layout.batches
    assert not answerer.layout.pack
    assert "padding changes" in answerer.disabled["padding"]
    questions = [question for question in random_questions("masked", 7) if len(question.ids) > 4]
    assert_equals_forward_pass(answerer, LEAKING[name], questions)


def perceiver() -> Any:
    sizes = {"vocab_size": VOCABULARY, "d_model": 32, "d_latents": 32, "num_latents": 8, "max_position_embeddings": 64}
    sizes |= {"num_self_attends_per_block": 1, "num_self_attention_heads": 2, "num_cross_attention_heads": 2}
    return t.PerceiverForMaskedLM(t.PerceiverConfig(**sizes, qk_channels=32, v_channels=32))


def test_logits_at_more_positions_than_the_input_has() -> None:
    answerer = MaskedAnswerer(made(perceiver), CPU)
    assert_equals_forward_pass(answerer, perceiver, random_questions("masked", 7))


def longrope() -> Any:
    scaling = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [4.0] * 4, "rope_theta": 1e4}
    scaling |= {"original_max_position_embeddings": 20, "factor": 4.0}
    rope = {"rope_parameters": scaling, "original_max_position_embeddings": 20, "max_position_embeddings": 80}
    return t.Phi3ForCausalLM(t.Phi3Config(**{**SMALL, **rope}, bos_token_id=1, eos_token_id=2))


def test_positions_that_depend_on_the_longest_input_get_batches_of_one_length() -> None:
    answerer = CausalAnswerer(made(longrope), CPU)
    assert not answerer.layout.pads
    assert answerer.layout.batches
    long = [Question(tuple(3 + (a * i) % 40 for i in range(40)), ((39, 4), (30, 5))) for a in (1, 3, 7)]
    assert_equals_forward_pass(answerer, longrope, [*random_questions("causal", 7), *long])


class Leaking(CausalAnswerer):
    """Adds to each number of a batch a share of the number of its rows with the same last token."""

    def compute_numbers(self, batch: Batch) -> Tensor:
        return super().compute_numbers(batch) + 0.1 * (len(batch) - 1)


@pytest.mark.parametrize("without", [(), ALL], ids=["fast", "plain"])
def test_inputs_that_change_their_neighbours_numbers_are_sent_alone(without: Any) -> None:
    answerer = Leaking(made(CAUSAL["gpt2"]), CPU, without)
    assert (answerer.layout.pads, answerer.layout.batches) == (False, False)
    assert "other inputs" in answerer.disabled["batches"]
    assert_equals_forward_pass(answerer, CAUSAL["gpt2"], random_questions("causal", 7))


def switch(capacity: int = 12) -> Any:
    small = {"vocab_size": VOCABULARY, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
    experts = {"num_experts": 2, "expert_capacity": capacity, "num_sparse_encoder_layers": 1}
    experts |= {"num_sparse_decoder_layers": 1, "decoder_start_token_id": 0}
    return t.SwitchTransformersForConditionalGeneration(t.SwitchTransformersConfig(**small, **experts))


@pytest.mark.parametrize("capacity", [4, 24])
def test_experts_with_a_capacity_give_each_input_the_numbers_that_it_gets_alone(capacity: int) -> None:
    def make() -> Any:
        return switch(capacity)

    answerer = Seq2seqAnswerer(made(make), CPU)
    repeated = [Question((0, *[9] * 12), ((12, a),), source=(a, *[11] * 14)) for a in range(20, 40)]
    assert_equals_forward_pass(answerer, make, [*random_questions("seq2seq", 7), *repeated])


class Stochastic(MaskedAnswerer):
    """Gives other numbers each time."""

    def compute_numbers(self, batch: Batch) -> Tensor:
        return super().compute_numbers(batch) + torch.rand(1)


def test_a_model_with_random_numbers_is_an_error() -> None:
    with raises_mentioning(ModelError, "BertForMaskedLM", "random"):
        Stochastic(made(MASKED["bert"]), CPU)


class NeedsFour(nn.Module):
    """Refuses inputs of fewer than four tokens."""

    def __call__(self, _module: nn.Module, _args: Any, named: dict[str, Any]) -> None:
        if named["input_ids"].shape[1] < 4:
            raise RuntimeError("the input is too short")


def test_a_model_that_refuses_very_short_inputs_is_checked_on_longer_ones() -> None:
    model = made(MASKED["bert"])
    model.register_forward_pre_hook(NeedsFour(), with_kwargs=True)
    answerer = MaskedAnswerer(model, CPU)
    questions = [question for question in random_questions("masked", 7) if len(question.ids) >= 4]
    assert_equals_forward_pass(answerer, MASKED["bert"], questions)


def test_models_that_ignore_padding_and_neighbours_have_full_batches() -> None:
    for kind, models in {"masked": MASKED, "causal": CAUSAL, "seq2seq": SEQ2SEQ}.items():
        for name, make in models.items():
            answerer = ANSWERERS[kind](made(make), CPU, ALL)
            assert (answerer.layout.pads, answerer.layout.batches) == (True, True), name
            assert answerer.disabled == {}, name


@pytest.mark.parametrize(
    ("layout", "kind", "expected"),
    [
        (BatchLayout(), "masked", [[2, 2, 3, 3, 30]]),
        (BatchLayout(longest=20), "masked", [[30], [2, 2, 3, 3]]),
        (BatchLayout(pads=False), "masked", [[30], [3, 3], [2, 2]]),
        (BatchLayout(batches=False), "masked", [[2], [2], [3], [3], [30]]),
    ],
)
def test_batches_of_a_layout(layout: BatchLayout, kind: Kind, expected: list[list[int]]) -> None:
    inputs: list[Ids] = [(1,) * 30, (1, 2), (1, 3), (1, 2, 3), (1, 2, 4)]
    batches = plan_batches([Question(ids, ((0, 1),)) for ids in inputs], kind, 4000, layout)
    assert sorted(sorted(len(row.ids) for row in batch) for batch in batches) == sorted(expected)


def test_the_padded_check_sends_long_and_short_inputs_in_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    answerer = CausalAnswerer(made(CAUSAL["gpt2"]), CPU, ALL)
    sent: list[list[int]] = []
    true_answer = answerer.answer_batch

    def noted(batch: Batch) -> Any:
        sent.append([len(row.ids) for row in batch])
        return true_answer(batch)

    monkeypatch.setattr(answerer, "answer_batch", noted)
    with torch.inference_mode():
        BatchEffects(answerer).find_layout()
    assert [64, 10, 4] in [sorted(lengths, reverse=True) for lengths in sent]
