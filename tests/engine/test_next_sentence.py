"""The next-sentence head: against a plain forward pass over each pair alone."""

import random
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from tests.engine.asked import CPU
from tests.models.tiny import VOCABULARY, made
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execution import answer_all
from tiltmeter.engine.next_sentence import NextSentenceAnswerer
from tiltmeter.engine.speedups import ALL
from tiltmeter.questions import Question, WantedQuantity


def make() -> Any:
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24
    )
    return made(lambda: transformers.BertForNextSentencePrediction(config))


@pytest.mark.parametrize(
    ("without", "batch_tokens"),
    [((), 1), ((), 30), ((), 1000), (("packing",), 200), (ALL, 200)],
    ids=["alone", "few", "all", "without packing", "plain"],
)
def test_decisions_equal_a_plain_forward_pass(without: Collection[str], batch_tokens: int) -> None:
    answerer = NextSentenceAnswerer(make(), CPU, without)
    assert bool(answerer.layout.pack) == ("packing" not in without)
    rng = random.Random(1)
    asked = []
    for number in range(30):
        first, second = rng.randint(2, 6), rng.randint(2, 6)
        ids = tuple(rng.randrange(VOCABULARY) for _ in range(first + second))
        segments = (0,) * first + (1,) * second if number % 5 else ()
        # Both decisions about some, and a pair that is asked about twice is one input.
        wanted = ((0, 0), (0, 1))[: 1 + number % 2]
        asked.append(
            Question(
                ids,
                wanted,
                segments=segments,
                want=(WantedQuantity.LOG_PROB, WantedQuantity.LOG_PROB_AND_TOP)[number % 2],
            )
        )
        asked.append(Question(ids, ((0, 1),), segments=segments, want=WantedQuantity.LOG_PROB_AND_TOP))
    found = answer_all(
        asked,
        kind="next-sentence",
        fingerprint="n",
        load=lambda: answerer,
        store=AnswerStore(":memory:"),
        batch_tokens=batch_tokens,
    )
    model = make()
    for question in asked:
        segments = question.segments or (0,) * len(question.ids)
        with torch.no_grad():
            logits = model(torch.tensor([question.ids]), token_type_ids=torch.tensor([segments])).logits[0].double()
        expected = [float(torch.log_softmax(logits, dim=0)[token]) for _, token in question.wanted]
        if question.want is WantedQuantity.LOG_PROB_AND_TOP:
            expected += [float(logits[token] == logits.max()) for _, token in question.wanted]
        np.testing.assert_allclose(found[question.digest], expected, atol=1e-5)
    assert not any(module._forward_pre_hooks for module in answerer.model.modules())


def test_a_model_without_a_pooler_is_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make()
    answerer = NextSentenceAnswerer(model, CPU, ALL)
    assert answerer.accepts_positions()
    with monkeypatch.context() as patched:
        patched.setattr(type(model), "forward", lambda self, input_ids: None)
        assert not answerer.accepts_positions()
    monkeypatch.setattr(model.bert, "pooler", None)
    answerer.initialise_attributes()
    assert not answerer.accepts_positions()
