"""Questions and scores of multiple choice, compared with a naive likelihood of each answer after the prompt."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.models.tiny import made
from tests.models.tiny_tokenizers import byte_level, with_template, word_level, word_piece
from tests.support.answered import answered
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.benchmark import PartTrials, UnsupportedPart
from tiltmeter.benchmarks.multiple_choice import BENCHMARK, ask, build_choice
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.errors import UsageError
from tiltmeter.forms.multiple_choice import ROLES, MultipleChoiceItem
from tiltmeter.models.tokenizer_text import TokenizerText

CPU = torch.device("cpu")
GPT2 = GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=2, n_positions=256)


def item(id_: str = "q", language: str = "en", **change: str) -> MultipleChoiceItem:
    texts = {"stereotype": "the nurse", "anti_stereotype": "she", "unknown": "is very loud"} | change
    context, question = "the nurse was gentle .", "she was loud ."
    return MultipleChoiceItem(
        id_, "ambiguous", language, "age", "t", "negative", context, question, **texts, correct="unknown"
    )


def causal_text(tokenizer: Any = None) -> TokenizerText:
    return TokenizerText(tokenizer or byte_level(), SimpleNamespace(), "causal")


def asked_of(items: list[MultipleChoiceItem], text: Any, protocol: str = "published") -> PartTrials:
    return ask("ambiguous", items, text, protocol=protocol)


def test_the_answer_is_scored_after_the_prompt_with_the_space_before_it() -> None:
    text = causal_text()
    (trial,) = asked_of([item(stereotype="gentle")], text).trials
    prompt = "Context: the nurse was gentle .\nQuestion: she was loud .\nAnswer:"
    before = text.encode([prompt])[0].ids
    whole = text.encode([f"{prompt} gentle"])[0].ids
    assert whole[: len(before)] == before
    assert len(whole) == len(before) + 1  # `Ġgentle` is one token
    first = trial.questions[0]
    assert first.ids == whole
    assert first.wanted == ((len(before) - 1, whole[-1]),)


def test_prompts_are_in_the_language_of_the_item() -> None:
    text = causal_text()
    for language, word in (("ko", "정답:"), ("nl", "Antwoord:"), ("ca", "Resposta:"), ("eo", "Answer:")):
        (trial,) = asked_of([item(language=language)], text).trials
        assert f"\n{word} the nurse" in text.decode(trial.questions[0].ids)


def test_special_tokens_around_a_text_are_not_scored() -> None:
    text = causal_text(with_template(word_level(bos_token="<s>", eos_token="</s>"), "<s> $A </s>", "<s>", "</s>"))
    (trial,) = asked_of([item()], text).trials
    for question, role in zip(trial.questions, ROLES, strict=True):
        tokens = text.encode([item().get_answer(role)])[0].ids
        assert question.ids[0] == text.start
        assert question.ids[-len(tokens) :] == tokens  # no </s>
        assert [token for _, token in question.wanted] == list(tokens)


@pytest.mark.parametrize("protocol", ["published", "likelihood", "likelihood-per-character"])
def test_scores_are_the_likelihoods_of_the_answers(protocol: str) -> None:
    text, model = causal_text(), made(lambda: GPT2LMHeadModel(GPT2))
    items = [item("a"), item("b", stereotype="gruff", anti_stereotype="the gentle", unknown="a kind")]
    asked = asked_of(items, text, protocol)
    assert asked.protocol == ("likelihood" if protocol == "published" else protocol)
    for id_, rows in answered(asked, CausalAnswerer(model, CPU)):
        found = {row.role: row.score for row in rows}
        (entry,) = [entry for entry in items if entry.id == id_]
        expected = {}
        for role in ROLES:
            prompt = f"Context: {entry.context}\nQuestion: {entry.question}\nAnswer:"
            ids, start = (text.encode([t])[0].ids for t in (f"{prompt} {entry.get_answer(role)}", prompt))
            with torch.no_grad():
                table = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0].float(), dim=-1)
            total = sum(float(table[at - 1, ids[at]]) for at in range(len(start), len(ids)))
            expected[role] = total / len(entry.get_answer(role)) if protocol.endswith("character") else total
        for role in ROLES:
            assert found[f"{role} answer"] == pytest.approx(expected[role], abs=1e-4)
            best = max(expected, key=expected.__getitem__)
            assert found[f"answer:{role}"] == float(role == best)


def test_answers_with_the_same_score_share_the_choice() -> None:
    (trial,) = asked_of([item()], causal_text()).trials
    rows = trial.score([np.array([-1.0], np.float32), np.array([-0.5, -0.5], np.float32), np.array([-3.0], np.float32)])
    assert [row.score for row in rows if row.role.startswith("answer:")] == [0.5, 0.5, 0.0]


def test_an_encoder_decoder_fills_a_sentinel_after_the_prompt() -> None:
    tokenizer = with_template(word_level(pad_token="<pad>", eos_token="</s>"), "$A </s>", "</s>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<extra_id_0>"]})
    text = TokenizerText(tokenizer, SimpleNamespace(decoder_start_token_id=1), "seq2seq")
    (trial,) = asked_of([item()], text).trials
    question = trial.questions[1]
    assert question.source[-2] == text.sentinel
    (she,) = text.encode(["she"])[0].ids
    assert question.ids == (text.decoder_start, text.sentinel, she)
    assert question.wanted == ((1, she),)


def test_unsupported_models_and_protocols() -> None:
    masked = TokenizerText(word_piece(), SimpleNamespace(), "masked")
    with raises_mentioning(UnsupportedPart, "masked model", "chat model"):
        asked_of([item()], masked)
    plain = TokenizerText(word_level(), SimpleNamespace(decoder_start_token_id=1), "seq2seq")
    with raises_mentioning(UnsupportedPart, "sentinel"):
        asked_of([item()], plain)
    with raises_mentioning(UsageError, "likelihood-per-character"):
        asked_of([item()], causal_text(), "aul")


def test_an_item_with_equal_answers_is_skipped() -> None:
    asked = asked_of([item("same", anti_stereotype="The Nurse "), item("other")], causal_text())
    assert [trial.item.id for trial in asked.trials] == ["other"]
    assert [skip.item for skip in asked.skipped] == ["same"]


def test_as_a_choice_all_three_answers_are_options() -> None:
    put = build_choice(item(stereotype="the nurse "))
    assert [option.role for option in put.options] == list(ROLES)
    assert put.options[0].text == "the nurse"
    assert put.context.endswith("\n\nshe was loud .")
    assert BENCHMARK.choice_measures == "multiple_choice"


def test_no_item_is_compared_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing all pairs of items would take quadratic time."""

    def refuse(_one: object, _other: object) -> bool:
        raise AssertionError("two items were compared")

    monkeypatch.setattr(MultipleChoiceItem, "__eq__", refuse)
    asked = asked_of([item("a"), item("b", unknown="She"), item("c")], causal_text())
    assert [trial.item.id for trial in asked.trials] == ["a", "c"]
    assert [skipped.item for skipped in asked.skipped] == ["b"]
