"""Conformance of models that answer questions."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.datasets import load
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.models.model_protocol import Model
from tiltmeter.questions import Answer, Kind, Question
from tiltmeter.testing.requirement import build_requirement

_ITEMS = 4
# How far answers to a question may differ with the batch, in float32.
_TOLERANCE = 1e-4


def check_model(model: Model, other: Model | None = None, questions: Sequence[Question] = ()) -> None:
    """Check a model; `other` is one with different weights, which must have another fingerprint.

    It implements the protocol; fingerprints are stable; all questions are answered with finite numbers, the same
    alone and together with others; answers are stored under the fingerprint and read from there; and it can be closed.
    The questions are those about some sentence pairs of the starter set, unless others are given.
    """
    require = build_requirement(f"model {getattr(model, 'name', model)!r}")
    require(isinstance(model, Model), "it lacks a part of tiltmeter.models.model_protocol.Model")
    require(model.kinds, "it answers no kind of question")
    require(model.text.kind == model.kinds[0], f"its text is of kind {model.text.kind}, not {model.kinds[0]}")
    require(_is_json(model.describe()), "describe gives values that are not JSON")
    kind = model.kinds[0]
    for one in model.kinds:
        require(model.fingerprint(one) == model.fingerprint(one), f"its fingerprint for {one} is not stable")
    asked = list(questions) or _make_questions(model)
    together = _collect_answers(model, kind, asked)
    for question in asked:
        answer = together.get(question.digest)
        require(answer is not None, f"it gives no answer to {question}")
        assert answer is not None
        size = question.want.rows * len(question.wanted)
        require(answer.shape == (size,), f"its answer to {question} has the shape {answer.shape}, not {(size,)}")
        require(np.isfinite(answer).all(), f"its answer to {question} is not finite")
        alone = _collect_answers(model, kind, [question])[question.digest]
        same = np.allclose(alone, answer, rtol=0, atol=_TOLERANCE)
        require(same, f"its answer to {question} is {alone} alone, and {answer} together with others")
    if other is not None:
        require(other.fingerprint(kind) != model.fingerprint(kind), "another model has the same fingerprint")
    model.close()
    model.close()


def _collect_answers(model: Model, kind: Kind, questions: Sequence[Question]) -> Mapping[bytes, Answer]:
    """The answers of a model with an empty store, which must hold them afterwards."""
    require = build_requirement(f"model {model.name!r}")
    names = {question.digest: "example" for question in questions}
    with tempfile.TemporaryDirectory() as folder, AnswerStore(Path(folder) / "answers.sqlite") as store:
        answers = model.answer(questions, kind=kind, store=store, names=names, report=lambda _progress: None)
        stored = store.get(model.fingerprint(kind), names)
        require(stored.keys() == names.keys(), "it does not store its answers, so a run could not be continued")
        again = model.answer(questions, kind=kind, store=store, names=names, report=lambda _progress: None)
        same = all(np.array_equal(again[digest], answers[digest]) for digest in names)
        require(same, "its answers are different when they are read from the store")
    return answers


def _make_questions(model: Model) -> list[Question]:
    items = load("starter-pairs", None, "en")[:_ITEMS]
    asked = get_benchmark("pairs").ask("all", items, model.text, protocol="published")
    found = {question.digest: question for trial in asked.trials for question in trial.questions}
    return list(found.values())


def _is_json(values: object) -> bool:
    try:
        json.dumps(values)
    except (TypeError, ValueError):
        return False
    return isinstance(values, dict)
