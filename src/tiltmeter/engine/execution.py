"""Answer questions with a local model: reuse stored answers, and store new answers after each batch."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_plan import compute_padding_share, plan_batches
from tiltmeter.engine.batch_rows import Batch, split_by_question
from tiltmeter.errors import ModelError
from tiltmeter.progress.progress import Progress, ReportProgress, ignore_progress
from tiltmeter.questions import Answer, Kind, Question

logger = logging.getLogger(__name__)


class BatchAnswerer(Protocol):
    """A loaded model that answers batches.

    `disabled` maps the names of the speed-ups and batch layouts that are not used to the reasons.
    """

    batch_tokens: int
    batches_ahead: int
    layout: BatchLayout
    disabled: Mapping[str, str]

    def start_batch(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        """Start the computation of a batch; return a function that waits for the numbers and returns them.

        The numbers are in the order of the `NumberRequests` of the batch.
        """


def answer_all(
    questions: Iterable[Question],
    *,
    kind: Kind,
    fingerprint: str,
    load: Callable[[], BatchAnswerer],
    store: AnswerStore,
    batch_tokens: int | None = None,
    names: Mapping[bytes, str] | None = None,
    report: ReportProgress = ignore_progress,
) -> Mapping[bytes, Answer]:
    """Return the answers to all questions as a dictionary; the keys are the digests of the questions.

    `load` loads the model and is called only if at least one answer is not stored. `batch_tokens` overrides the batch
    size of the model. `names` maps the digests of questions to item ids, for error messages.
    """
    by_digest = {question.digest: question for question in questions}
    answers = store.get(fingerprint, by_digest)
    report(Progress(len(answers), len(by_digest)))
    if len(answers) == len(by_digest):
        return answers
    store.reject_read_only(len(by_digest) - len(answers))
    model = load()
    batches, padding = plan_model_batches(model, by_digest.values(), kind, batch_tokens)
    for new in answer_batches(model, batches, answers, names):
        store.put(fingerprint, new)
        answers.update(new)
        report(Progress(len(answers), len(by_digest), padding))
    return answers


def plan_model_batches(
    model: BatchAnswerer, questions: Iterable[Question], kind: Kind, batch_tokens: int | None = None
) -> tuple[list[Batch], float]:
    """Return batches that answer the questions, and the share of padding in the tokens of these batches."""
    # The batch size is also set in the model, because an encoder-decoder divides the batches into smaller batches.
    size = model.batch_tokens = batch_tokens or model.batch_tokens
    batches = plan_batches(questions, kind, size, model.layout)
    return batches, compute_padding_share(batches, size, model.layout)


def answer_batches(
    model: BatchAnswerer,
    batches: Iterable[Batch],
    answers: Mapping[bytes, Answer],
    names: Mapping[bytes, str] | None = None,
) -> Iterator[dict[bytes, Answer]]:
    """Ask the model for the answers that `answers` does not contain; yield the new answers of each batch."""
    for batch, numbers in _compute_numbers(model, _select_unanswered(batches, answers)):
        # A row may contain questions that are already in `answers`; these answers are not replaced.
        new = {digest: answer for digest, answer in split_by_question(batch, numbers).items() if digest not in answers}
        if not np.isfinite(numbers).all():
            _reject_non_finite(new, names)
        yield new


def _reject_non_finite(answers: Mapping[bytes, Answer], names: Mapping[bytes, str] | None) -> None:
    """Raise an error that names the first item whose answer is not a finite number."""
    for digest, answer in answers.items():
        if not np.isfinite(answer).all():
            raise ModelError(
                f"The model's answer for item {names[digest] if names else digest.hex()} is not a finite number; if "
                "the model runs in half precision, try --dtype float32."
            )


def _select_unanswered(batches: Iterable[Batch], answers: Mapping[bytes, Answer]) -> Iterator[Batch]:
    """Yield batches of the rows with at least one question that is not in `answers`; omit empty batches."""
    if not answers:
        yield from batches
        return
    for batch in batches:
        if rows := [row for row in batch if not all(digest in answers for digest in row.questions)]:
            yield rows


def _compute_numbers(model: BatchAnswerer, batches: Iterable[Batch]) -> Iterator[tuple[Batch, NDArray[np.float32]]]:
    """Yield each batch with its numbers; before waiting for a batch, start the next `batches_ahead` batches."""
    started: deque[tuple[Batch, Callable[[], NDArray[np.float32]]]] = deque()
    for batch in batches:
        started.append((batch, _start_within_memory(model, batch)))
        if len(started) > model.batches_ahead:
            first, numbers = started.popleft()
            yield first, numbers()
    for first, numbers in started:
        yield first, numbers()


def _start_within_memory(model: BatchAnswerer, batch: Batch) -> Callable[[], NDArray[np.float32]]:
    """Start a batch; if the memory is too small, start the two halves of the batch instead, recursively."""
    try:
        return model.start_batch(batch)
    except (MemoryError, RuntimeError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if len(batch) == 1 or not _is_out_of_memory(error):
            raise
        logger.warning("Out of memory with %d rows in a batch; continuing with half as many rows.", len(batch))
    import torch  # the import takes seconds, and models on a server do not need torch

    torch.cuda.empty_cache()
    half = len(batch) // 2
    halves = [_start_within_memory(model, rows) for rows in (batch[:half], batch[half:])]
    return lambda: np.concatenate([numbers() for numbers in halves], axis=1)


def _is_out_of_memory(error: BaseException) -> bool:
    import torch

    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)
