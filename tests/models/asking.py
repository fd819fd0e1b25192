"""The answers of a model to a few questions, without a run around it."""

from typing import Any

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.questions import Question

QUESTIONS = [
    Question((1, 5, 9, 7), ((1, 4), (2, 3))),
    Question((1, 5, 9), ((2, 8),)),
    Question((2, 5, 11, 6, 7, 3), ((0, 5), (4, 3))),
    Question((1, 8), ((0, 8),)),
]


def answers(model: Any, questions: list[Question] = QUESTIONS) -> list[list[float]]:
    """The answers in the order of the questions."""
    asked = [q if model.kind != "seq2seq" else Question(q.ids, q.wanted, source=(4, 6)) for q in questions]
    with AnswerStore(":memory:") as store:
        found = model.answer(asked, kind=model.kind, store=store, names={}, report=lambda _progress: None)
    return [found[question.digest].tolist() for question in asked]
