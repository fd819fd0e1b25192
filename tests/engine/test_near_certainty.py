"""Log-probabilities near 0 are precise in float32, because S_JSD depends on their square root."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from tests.models.tiny import made
from tiltmeter.engine import vocabulary_head
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execution import answer_all
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.questions import Question, WantedQuantity

VOCABULARY = 2500


def certain(scale: float) -> Any:
    """A masked model that gives nearly all probability to one token."""
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24
    )
    model = made(lambda: transformers.BertForMaskedLM(config))
    with torch.no_grad():
        for parameter in model.cls.predictions.transform.LayerNorm.parameters():
            parameter.mul_(scale)
    return model


@pytest.mark.parametrize("slices", [1, 3])
@pytest.mark.parametrize("scale", [1.0, 10.0, 30.0])
def test_log_probabilities_near_zero_are_precise(scale: float, slices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if slices > 1:
        monkeypatch.setattr(vocabulary_head, "_LOGITS_AT_ONCE", {"cpu": 1})  # then the smallest slice, 1024 tokens
    model, exact = certain(scale), certain(scale).double()
    asked, expected = [], []
    for first in range(4, 40):
        ids = (first, 5, 6, 7)
        with torch.no_grad():
            log_probs = torch.log_softmax(exact(torch.tensor([ids])).logits[0], dim=-1)
        for place in range(len(ids)):
            top = int(log_probs[place].argmax())
            for token in (top, (top + 1) % VOCABULARY):
                asked.append(Question(ids, ((place, token),), want=WantedQuantity.LOG_PROB_AND_TOP))
                expected.append(float(log_probs[place, token]))
    answers = answer_all(
        asked,
        kind="masked",
        fingerprint="certain",
        load=lambda: MaskedAnswerer(model, torch.device("cpu")),
        store=AnswerStore(":memory:"),
    )
    found = np.array([answers[question.digest][0] for question in asked], dtype=np.float64)
    if scale == 30:
        assert max(expected) > -1e-9  # beside a 1, float32 loses all below 6e-8
    # The relative error of a log-probability near 0 is the absolute error of the logits in float32, which depends on
    # the order in which a processor adds.
    np.testing.assert_allclose(found, expected, rtol=5e-6 * scale)
    assert [answers[question.digest][1] for question in asked] == [1.0, 0.0] * (len(asked) // 2)
