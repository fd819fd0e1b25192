"""Generated texts do not depend on the batch: tiny models of several architectures, compared with plain loops."""

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as t

from tests.models.tiny import _LLAMA, CAUSAL, VOCABULARY, made
from tiltmeter.engine.decoding import Decoder
from tiltmeter.engine.token_choice import draw_noise, split_seed
from tiltmeter.models import text_generation
from tiltmeter.models.text_generation import SeededPrompt, TextGenerator

GROUPED = {**_LLAMA, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3}
DECODED: dict[str, Callable[[], Any]] = {
    **{name: CAUSAL[name] for name in ("gpt2", "gpt-neox", "llama", "gemma2", "opt")},
    "grouped queries": lambda: t.LlamaForCausalLM(t.LlamaConfig(**GROUPED)),
    "windows": lambda: t.MistralForCausalLM(t.MistralConfig(**GROUPED, sliding_window=8)),
    "some windows": lambda: t.Gemma3ForCausalLM(t.Gemma3TextConfig(**GROUPED, sliding_window=6)),
    "experts": lambda: t.MixtralForCausalLM(
        t.MixtralConfig(**_LLAMA, num_local_experts=4, num_experts_per_tok=2, sliding_window=None)
    ),
}
# Models that generate one batch with `generate` of transformers: without position ids, or with another kind of cache.
OTHERS: dict[str, Callable[[], Any]] = {
    "bloom": CAUSAL["bloom"],
    "mamba": lambda: t.MambaForCausalLM(t.MambaConfig(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2)),
}
LONGEST = 7


def generator(module: Any, *, plain: bool = False, dtype: torch.dtype = torch.float32) -> TextGenerator:
    return TextGenerator(
        name="made",
        module=module.to(dtype),
        device=torch.device("cpu"),
        dtype=dtype,
        ends=(7, 11, 13),
        padding=0,
        vocabulary=VOCABULARY,
        max_length=64,
        plain=plain,
    )


def prompts(count: int = 10) -> list[SeededPrompt]:
    """Prompts of different lengths; half of them begin with the same tokens."""
    draw = random.Random(3)
    shared = tuple(draw.randrange(VOCABULARY) for _ in range(12))
    return [
        SeededPrompt(
            shared * (index % 2) + tuple(draw.randrange(VOCABULARY) for _ in range(draw.randrange(1, 30))),
            draw.getrandbits(64),
        )
        for index in range(count)
    ]


def texts(found: TextGenerator, asked: list[SeededPrompt], temperature: float = 0.0) -> list[list[int]]:
    pairs = {
        place: tokens
        for places, answers in found.generate_texts(asked, longest=LONGEST, temperature=temperature)
        for place, tokens in zip(places, answers, strict=True)
    }
    return [pairs[place] for place in range(len(asked))]


@pytest.mark.parametrize("name", DECODED)
def test_a_text_is_the_same_alone_and_in_any_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = prompts()
    batched = generator(made(DECODED[name]))
    lengths = set()
    for temperature in (0.0, 1.5):
        expected = texts(generator(made(DECODED[name]), plain=True), asked, temperature)
        lengths |= {len(tokens) for tokens in expected}
        assert texts(batched, asked, temperature) == expected
        monkeypatch.setattr(text_generation, "_ROWS", 3)
        assert texts(batched, asked, temperature) == expected
        assert [texts(batched, [prompt], temperature)[0] for prompt in asked[:3]] == expected[:3]
        assert texts(batched, asked[::-3], temperature) == expected[::-3]
    assert len(lengths) > 1
    assert batched.supports_decoder


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_use_the_library(name: str) -> None:
    asked = prompts(6)
    found = generator(made(OTHERS[name]))
    assert texts(found, asked) == texts(generator(made(OTHERS[name]), plain=True), asked)
    assert not found.supports_decoder


def test_texts_beyond_a_window_that_is_too_long_for_the_check_use_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = prompts(4)
    found = generator(made(DECODED["windows"]))
    monkeypatch.setattr("tiltmeter.engine.decoding_check._LONGEST_ON_CPU", 12)
    assert found._check.longest == 8
    monkeypatch.setattr(Decoder, "generate_texts", None)
    assert texts(found, asked) == texts(generator(made(DECODED["windows"]), plain=True), asked)


def test_rounding_does_not_change_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = prompts()
    expected = texts(generator(made(CAUSAL["llama"]), plain=True), asked)
    call_model = Decoder.call_model
    noise = torch.Generator().manual_seed(5)

    def round_coarsely(self: Decoder, *arguments: Any) -> torch.Tensor:
        logits = call_model(self, *arguments)
        return logits + torch.rand(logits.shape, generator=noise) * 0.1

    found = generator(made(CAUSAL["llama"]))
    assert found.supports_decoder
    monkeypatch.setattr(Decoder, "call_model", round_coarsely)
    assert texts(found, asked) != expected
    monkeypatch.setattr(text_generation, "_MIN_MARGIN", 0.11)
    assert texts(found, asked) == expected


def test_half_precision_takes_several_steps_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, tokens are copied to the CPU only after several steps; on a CPU, the steps are the same."""
    monkeypatch.setattr("tiltmeter.engine.decoding._Batch._copies_each_step", False)
    monkeypatch.setattr(text_generation, "_ROWS", 5)
    asked = prompts()
    found = generator(made(CAUSAL["gpt2"]), dtype=torch.bfloat16)
    once = texts(found, asked)
    monkeypatch.setattr("tiltmeter.engine.decoding._STEPS_PER_COPY", 1)
    assert once == texts(found, asked)
    assert len({len(tokens) for tokens in once}) > 2


def test_a_model_whose_batches_change_numbers_uses_the_library() -> None:
    class Leaking(t.GPT2LMHeadModel):
        def forward(self, input_ids: Any = None, **options: Any) -> Any:
            found = super().forward(input_ids=input_ids, **options)
            found.logits = found.logits + len(input_ids)
            found.logits[..., 3] += len(input_ids)
            return found

    def make() -> Any:
        return made(lambda: Leaking(CAUSAL["gpt2"]().config))

    found = generator(make())
    asked = prompts(3)
    assert texts(found, asked) == texts(generator(make(), plain=True), asked)
    assert not found.has_batches


def test_noise_follows_the_probabilities() -> None:
    logits = torch.randn(40, generator=torch.Generator().manual_seed(1)) * 2
    draw = random.Random(2)
    count = 20_000
    seeds = torch.tensor([split_seed(draw.getrandbits(64)) for _ in range(count)], dtype=torch.int32)
    for noise in (
        draw_noise(seeds, torch.zeros(count, dtype=torch.int32), 40),
        draw_noise(seeds[:1].expand(count, 2), torch.arange(count, dtype=torch.int32), 40),
    ):
        found = (logits + noise).argmax(-1).bincount(minlength=40)
        expected = logits.softmax(-1) * count
        assert float(((found - expected) ** 2 / expected).sum()) < 100
