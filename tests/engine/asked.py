"""Random questions for tiny models of every architecture, and their answers by a plain forward pass."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, VOCABULARY, made
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.execution import answer_all
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.seq2seq import Seq2seqAnswerer
from tiltmeter.questions import Answer, Kind, Question, WantedQuantity

CPU = torch.device("cpu")
MODELS = {**MASKED, **CAUSAL, **SEQ2SEQ}
ANSWERERS: dict[Kind, type[Answerer]] = {"masked": MaskedAnswerer, "causal": CausalAnswerer, "seq2seq": Seq2seqAnswerer}


def kind_of(name: str) -> Kind:
    return "masked" if name in MASKED else "causal" if name in CAUSAL else "seq2seq"


def random_questions(
    kind: Kind, seed: int, want: WantedQuantity = WantedQuantity.LOG_PROB, n: int = 40
) -> list[Question]:
    """Questions about inputs of many lengths, many with a common prefix, a common source, or equal."""
    rng = random.Random(seed)

    def tokens(low: int, high: int) -> tuple[int, ...]:
        return tuple(rng.randrange(4, VOCABULARY) for _ in range(rng.randint(low, high)))

    prefixes = [tokens(0, 6) for _ in range(6)]
    sources = [tokens(1, 9) for _ in range(5)] if kind == "seq2seq" else [()]
    # A common prefix of all targets of an encoder-decoder; empty every second time.
    start = (0, 3) if kind == "seq2seq" and seed % 2 else ()
    asked = []
    for _ in range(n):
        ids = start + rng.choice(prefixes) + tokens(1, 8)
        places = rng.sample(range(len(ids)), rng.randint(1, len(ids)))
        wanted = tuple((place, rng.randrange(VOCABULARY)) for place in places)
        asked.append(Question(ids, wanted, source=rng.choice(sources), want=want))
        if rng.random() < 0.3:
            asked.append(Question(ids, ((places[0], rng.randrange(VOCABULARY)),), source=asked[-1].source, want=want))
    return asked


def plain(model: Any, question: Question) -> torch.Tensor:
    """Log-probabilities at every position of one question, by the model's own forward pass in double precision."""
    inputs: dict[str, Any] = {"input_ids": torch.tensor([question.ids])}
    if question.source:
        inputs = {"input_ids": torch.tensor([question.source]), "decoder_input_ids": torch.tensor([question.ids])}
    with torch.no_grad():
        logits: torch.Tensor = model(**inputs).logits[0].double()
    return torch.log_softmax(logits, dim=-1)


def answers(answerer: Answerer, questions: list[Question]) -> dict[bytes, Answer]:
    return dict(
        answer_all(
            questions,
            kind=answerer.kind,
            fingerprint="f",
            load=lambda: answerer,
            store=AnswerStore(":memory:"),
            batch_tokens=200,
        )
    )


def assert_equals_forward_pass(answerer: Answerer, make: Callable[[], Any], questions: list[Question]) -> None:
    """The answers equal a plain forward pass of an unchanged model."""
    model, found = made(make), answers(answerer, questions)
    for question in questions:
        expected = plain(model, question)[[p for p, _ in question.wanted], [t for _, t in question.wanted]]
        np.testing.assert_allclose(found[question.digest], expected, atol=1e-5, rtol=1e-5)
