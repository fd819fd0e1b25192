"""Answers of every architecture equal a plain forward pass of each question, in any batches."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.asked import ANSWERERS, CPU, MODELS, kind_of, plain, random_questions
from tests.models.tiny import CAUSAL, SEQ2SEQ, made
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.execution import answer_all
from tiltmeter.engine.seq2seq import Seq2seqAnswerer
from tiltmeter.engine.speedups.last_layer import LastLayer
from tiltmeter.questions import Question, WantedQuantity


@cache
def answerer(name: str) -> Answerer:
    return ANSWERERS[kind_of(name)](made(MODELS[name]), CPU)


def answers(name: str, asked: list[Question], batch_tokens: int = 200) -> dict[bytes, np.ndarray]:
    return dict(
        answer_all(
            asked,
            kind=kind_of(name),
            fingerprint=name,
            load=lambda: answerer(name),
            store=AnswerStore(":memory:"),
            batch_tokens=batch_tokens,
        )
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("seed", "batch_tokens"), [(1, 1), (1, 60), (2, 5000)])
def test_answers_equal_a_plain_forward_pass(name: str, seed: int, batch_tokens: int) -> None:
    asked = random_questions(kind_of(name), seed)
    found = answers(name, asked, batch_tokens)
    model = answerer(name).model
    for question in asked:
        expected = plain(model, question)[[p for p, _ in question.wanted], [t for _, t in question.wanted]]
        np.testing.assert_allclose(found[question.digest], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_the_same_in_packed_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ANSWERERS[kind_of(name)], "compute_pack_width", lambda _self: 40)
    packing = ANSWERERS[kind_of(name)](made(MODELS[name]), CPU)
    assert bool(packing.layout.pack) == (name not in ("deberta-v2", "bloom", "bart"))  # these accept no positions
    asked = random_questions(kind_of(name), 6)
    found = answer_all(
        asked, kind=kind_of(name), fingerprint="p", load=lambda: packing, store=AnswerStore(":memory:"), batch_tokens=99
    )
    for question in asked:
        expected = plain(packing.model, question)[[p for p, _ in question.wanted], [t for _, t in question.wanted]]
        np.testing.assert_allclose(found[question.digest], expected, atol=1e-5, rtol=1e-5)


def test_sources_are_not_packed_if_the_encoder_ignores_the_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seq2seqAnswerer, "compute_pack_width", lambda _self: 40)
    model = made(MODELS["t5"])
    encode = model.get_encoder().forward

    def without_wide_masks(attention_mask: torch.Tensor | None = None, **others: Any) -> Any:
        wide = attention_mask is not None and attention_mask.dim() == 4
        return encode(attention_mask=None if wide else attention_mask, **others)

    monkeypatch.setattr(model.get_encoder(), "forward", without_wide_masks)
    unpacked = Seq2seqAnswerer(model, CPU)
    assert not unpacked.layout.pack
    assert unpacked.layout.shares_prefixes


@pytest.mark.parametrize("name", MODELS)
def test_order_does_not_matter(name: str) -> None:
    asked = random_questions(kind_of(name), 3)
    one, other = answers(name, asked), answers(name, asked[::-1])
    assert all(np.array_equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "gemma2"])
def test_the_most_probable_token_is_recognised(name: str) -> None:
    asked = random_questions(kind_of(name), 4, WantedQuantity.LOG_PROB_AND_TOP)
    model = answerer(name).model
    best = [
        Question(q.ids, tuple((p, int(plain(model, q)[p].argmax())) for p, _ in q.wanted), q.source, want=q.want)
        for q in asked[:5]
    ]
    found = answers(name, asked + best)
    for question in best:
        assert found[question.digest][len(question.wanted) :].tolist() == [1.0] * len(question.wanted)
    for question in asked:
        tops = plain(model, question).argmax(dim=-1)
        expected = [float(tops[p] == t) for p, t in question.wanted]
        assert found[question.digest][len(question.wanted) :].tolist() == expected


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "t5", "gemma2"])
def test_logits_differ_at_one_position_as_log_probabilities_do(name: str) -> None:
    asked = [
        Question(q.ids, ((0, 5), (0, 9)), q.source, want=WantedQuantity.LOGIT)
        for q in random_questions(kind_of(name), 5)
    ]
    found = answers(name, asked)
    for question in asked:
        log_probs = plain(answerer(name).model, question)[0]
        difference = found[question.digest][0] - found[question.digest][1]
        assert difference == pytest.approx(float(log_probs[5] - log_probs[9]), abs=1e-5)


def test_most_architectures_share_prefixes_and_project_only_wanted_positions() -> None:
    assert {name for name in CAUSAL if answerer(name).layout.shares_prefixes} >= {"gpt2", "gpt-neox", "llama", "qwen3"}
    # Bart accepts no positions of its targets.
    assert {name for name in SEQ2SEQ if not answerer(name).layout.shares_prefixes} == {"bart"}
    whole = {name for name in MODELS if "wanted_positions" not in answerer(name).speedups}
    assert whole <= {"gemma2", "bart"}  # one caps its logits, the other may add a bias to them
    assert {name for name in MODELS if "last_layer" not in answerer(name).speedups} <= {"albert"}  # it has one layer


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bert", {"query", "attention.output.dense"}),
        ("modernbert", {"Wo", "mlp.Wi"}),
        ("gpt2", {"attn.c_proj"}),
        ("llama", {"q_proj", "o_proj"}),
        ("t5", {"SelfAttention.q", "SelfAttention.o", "EncDecAttention.q", "EncDecAttention.o"}),
    ],
)
def test_only_keys_and_values_of_the_last_layer_are_computed_at_all_positions(name: str, expected: set[str]) -> None:
    model = answerer(name)
    names = {module: path for path, module in model.model.named_modules()}
    layer: LastLayer = model.restrict_to_positions.__self__  # type: ignore[attr-defined]
    narrowed = {names[matrix] for matrix in layer.other_restricted_matrices}
    assert all(any(path.endswith(end) for end in expected) for path in narrowed)
    assert all(any(path.endswith(end) for path in narrowed) for end in expected)


def test_running_out_of_memory_changes_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = random_questions("causal", 6, n=400)
    expected = answers("gpt2", asked)
    left = [3]
    true_start = CausalAnswerer.start_batch

    def short_of_memory(self: CausalAnswerer, batch: Any) -> Any:
        if left[0] and len(batch) > 1:
            left[0] -= 1
            raise torch.OutOfMemoryError("out of memory")
        return true_start(self, batch)

    monkeypatch.setattr(CausalAnswerer, "start_batch", short_of_memory)
    found = answers("gpt2", asked)
    assert left == [0]
    for key, answer in expected.items():
        np.testing.assert_allclose(found[key], answer, atol=1e-5)
