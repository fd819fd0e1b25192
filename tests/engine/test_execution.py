"""Answering: nothing is asked twice and nothing is lost, also if memory runs out."""

import logging
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.support.messages import raises_mentioning
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_rows import Batch, NumberRequests
from tiltmeter.engine.execution import answer_all
from tiltmeter.errors import ModelError
from tiltmeter.progress.progress import Progress
from tiltmeter.questions import Question, WantedQuantity


class Fake:
    """A model whose answer is minus (the token plus its position); it records the sizes of its batches."""

    batch_tokens = 30
    batches_ahead = 0
    layout = BatchLayout()
    disabled: ClassVar[dict[str, str]] = {}

    def __init__(self, fail: int = 0, rows_that_fit: int = 10**6, answer: float = 0) -> None:
        self.batches: list[int] = []
        self._fail, self._fit, self._answer = fail, rows_that_fit, answer

    def start_batch(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        numbers = self.answer(batch)
        return lambda: numbers

    def answer(self, batch: Batch) -> NDArray[np.float32]:
        if len(batch) > self._fit or (self._fail and len(batch) > 1):
            self._fail -= 1
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.batches.append(len(batch))
        asks = NumberRequests.from_batch(batch)
        return np.float32([self._answer - asks.tokens - asks.positions, asks.tokens % 2])


def questions(n: int = 20) -> list[Question]:
    return [Question((1, 2, 3, i), ((0, i), (2, i + 1))) for i in range(n)]


def ask(model: Fake, store: AnswerStore, asked: list[Question], **options: object) -> dict[bytes, list[float]]:
    answers = answer_all(asked, kind="masked", fingerprint="f", load=lambda: model, store=store, **options)  # type: ignore[arg-type]
    return {digest: answer.tolist() for digest, answer in answers.items()}


def expected(asked: list[Question]) -> dict[bytes, list[float]]:
    return {q.digest: [-float(token + place) for place, token in q.wanted] for q in asked}


def test_answers_belong_to_their_questions() -> None:
    assert ask(Fake(), AnswerStore(":memory:"), questions()) == expected(questions())


def test_stored_answers_are_not_asked_again_and_the_model_is_not_loaded() -> None:
    store, first, second = AnswerStore(":memory:"), Fake(), Fake()
    ask(first, store, questions(10))
    assert ask(second, store, questions(20)) == expected(questions(20))
    assert sum(second.batches) == 10

    def never() -> Fake:
        raise AssertionError("loaded for nothing")

    answer_all(questions(20), kind="masked", fingerprint="f", load=never, store=store)


def test_a_partly_answered_row_keeps_the_existing_answer() -> None:
    first, second = Question((1, 2), ((0, 4),)), Question((1, 2), ((0, 5),))
    store = AnswerStore(":memory:")
    store.put("f", {first.digest: np.float32([-0.5])})
    both = ask(Fake(), store, [first, second])
    assert both == {first.digest: [-0.5], second.digest: [-5.0]}
    assert ask(Fake(), store, [first, second]) == both


def test_a_resumed_run_sends_the_same_batches() -> None:
    whole = Fake()
    ask(whole, AnswerStore(":memory:"), questions())

    class Stops(Fake):
        def answer(self, batch: Batch) -> NDArray[np.float32]:
            if len(self.batches) == 2:
                raise KeyboardInterrupt
            return super().answer(batch)

    store, stopped, resumed = AnswerStore(":memory:"), Stops(), Fake()
    with pytest.raises(KeyboardInterrupt):
        ask(stopped, store, questions())
    ask(resumed, store, questions())
    assert stopped.batches + resumed.batches == whole.batches


@pytest.mark.parametrize("model", [Fake(fail=3), Fake(rows_that_fit=1), Fake(rows_that_fit=3)])
def test_out_of_memory_halves_the_batch(model: Fake, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert ask(model, AnswerStore(":memory:"), questions()) == expected(questions())
    assert "half as many" in caplog.text


def test_too_little_memory_for_one_row_is_an_error() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        ask(Fake(rows_that_fit=0), AnswerStore(":memory:"), questions())


def test_a_non_finite_answer_is_not_stored_and_the_error_names_its_item() -> None:
    store = AnswerStore(":memory:")
    with raises_mentioning(ModelError, "item nurse-7", "--dtype float32"):
        ask(Fake(answer=float("nan")), store, questions(1), names={questions(1)[0].digest: "nurse-7"})
    assert store.get("f", [questions(1)[0].digest]) == {}


def test_the_most_probable_token_is_reported_if_requested() -> None:
    question = Question((1, 2), ((0, 4), (1, 5)), want=WantedQuantity.LOG_PROB_AND_TOP)
    assert ask(Fake(), AnswerStore(":memory:"), [question]) == {question.digest: [-4.0, -6.0, 0.0, 1.0]}


def test_progress_ends_with_all_questions_answered() -> None:
    reports: list[Progress] = []
    ask(Fake(), AnswerStore(":memory:"), questions(), report=reports.append)
    assert reports[0] == Progress(0, 20)  # before anything is planned
    assert [p.done for p in reports] == sorted(p.done for p in reports)
    assert (reports[-1].done, reports[-1].total) == (20, 20)


def test_progress_has_the_share_of_padding() -> None:
    reports: list[Progress] = []
    asked = [Question((1,), ((0, 1),)), Question((2, 3), ((0, 2),))]

    class Wide(Fake):
        batch_tokens = 1000

    ask(Wide(), AnswerStore(":memory:"), asked, report=reports.append)
    assert (reports[-1].done, reports[-1].padding) == (2, 0.25)


@pytest.mark.parametrize("ahead", [0, 2])
def test_batches_are_started_ahead(ahead: int) -> None:
    started, done, behind = [], [], []

    class Counting(Fake):
        batches_ahead = ahead

        def start_batch(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
            started.append(batch)
            numbers = self.answer(batch)

            def wait() -> NDArray[np.float32]:
                behind.append(len(started) - len(done))
                done.append(batch)
                return numbers

            return wait

    assert ask(Counting(), AnswerStore(":memory:"), questions(30)) == expected(questions(30))
    assert len(started) == 5
    assert behind == [ahead + 1] * (5 - ahead) + list(range(ahead, 0, -1))


def test_other_errors_do_not_count_as_out_of_memory() -> None:
    class Broken(Fake):
        def answer(self, _batch: Batch) -> NDArray[np.float32]:
            raise RuntimeError("index out of range")

    with raises_mentioning(RuntimeError, "index out of range"):
        ask(Broken(), AnswerStore(":memory:"), questions())


@pytest.mark.parametrize(
    "error",
    [MemoryError(), torch.OutOfMemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")],
    ids=repr,
)
def test_errors_that_count_as_out_of_memory(error: Exception) -> None:
    class Short(Fake):
        def answer(self, batch: Batch) -> NDArray[np.float32]:
            if len(batch) > 2:
                raise error
            return super().answer(batch)

    assert ask(Short(), AnswerStore(":memory:"), questions(9)) == expected(questions(9))


def test_the_error_for_an_unnamed_question_has_its_digest() -> None:
    (question,) = questions(1)
    with raises_mentioning(ModelError, question.digest.hex()):
        ask(Fake(answer=float("inf")), AnswerStore(":memory:"), [question])


def test_the_batch_size_of_a_model_can_be_overridden() -> None:
    model = Fake()
    ask(model, AnswerStore(":memory:"), questions(), batch_tokens=8)
    assert model.batch_tokens == 8
    assert model.batches == [2] * 10
