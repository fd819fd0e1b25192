"""The conformance check of models that answer questions."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.datasets import load
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.models.model_protocol import Model
from tiltmeter.questions import Answer, Kind, Question
from tiltmeter.testing.requirement import build_requirement, is_json_object

_ITEMS = 4
# Maximum difference between two float32 answers to a question that is asked alone and together with others.
_TOLERANCE = 1e-4


def check_model(model: Model, other: Model | None = None, questions: Sequence[Question] = ()) -> None:
    """Check a model. `other` is a model with different weights, whose fingerprint must be different too.

    The checks: The model implements the protocol. Its fingerprints are stable. It answers all questions with finite
    numbers. The answer to a question does not depend on whether the question is asked alone or with others. Answers are
    stored under the fingerprint and can be read again. The model can be closed twice.

    The default questions are about sentence pairs of the starter set.
    """
    require = build_requirement(f"model {getattr(model, 'name', model)!r}")
    require(isinstance(model, Model), "it does not implement tiltmeter.models.model_protocol.Model")
    require(model.kinds, "its `kinds` are empty")
    require(model.text.kind == model.kinds[0], f"`text.kind` is {model.text.kind}, not {model.kinds[0]}")
    require(is_json_object(model.describe()), "describe returns values that are not JSON")
    kind = model.kinds[0]
    for one in model.kinds:
        require(model.fingerprint(one) == model.fingerprint(one), f"its fingerprint for {one} is not stable")
    asked = list(questions) or _make_questions(model)
    together = _collect_answers(model, kind, asked)
    for question in asked:
        answer = together.get(question.digest)
        require(answer is not None, f"it does not answer {question}")
        assert answer is not None
        size = question.want.rows * len(question.wanted)
        require(answer.shape == (size,), f"its answer to {question} has the shape {answer.shape}, not {(size,)}")
        require(np.isfinite(answer).all(), f"its answer to {question} is not finite")
        alone = _collect_answers(model, kind, [question])[question.digest]
        same = np.allclose(alone, answer, rtol=0, atol=_TOLERANCE)
        require(same, f"its answer to {question} is {alone} alone, but {answer} with other questions")
    if other is not None:
        require(other.fingerprint(kind) != model.fingerprint(kind), f"it has the same fingerprint as {other.name!r}")
    model.close()
    model.close()


def _collect_answers(model: Model, kind: Kind, questions: Sequence[Question]) -> Mapping[bytes, Answer]:
    """Return the answers of a model with an empty answer store, and check that the model stores its answers."""
    require = build_requirement(f"model {model.name!r}")
    names = {question.digest: "example" for question in questions}
    with tempfile.TemporaryDirectory() as folder, AnswerStore(Path(folder) / "answers.sqlite") as store:
        answers = model.answer(questions, kind=kind, store=store, names=names, report=lambda _progress: None)
        stored = store.get(model.fingerprint(kind), names)
        require(stored.keys() == names.keys(), "it does not store its answers, so a run cannot be continued")
        again = model.answer(questions, kind=kind, store=store, names=names, report=lambda _progress: None)
        same = all(np.array_equal(again[digest], answers[digest]) for digest in names)
        require(same, "its answers differ when they are read from the store")
    return answers


def _make_questions(model: Model) -> list[Question]:
    items = load("starter-pairs", None, "en")[:_ITEMS]
    asked = get_benchmark("pairs").ask("all", items, model.text, protocol="published")
    unique = {question.digest: question for trial in asked.trials for question in trial.questions}
    return list(unique.values())
