"""Answer questions: stored answers are reused, and new ones are stored batch by batch."""

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
    """A loaded model as the engine uses it: batch size, how rows may be laid out, and how it answers a batch.

    `disabled` names what would be faster and is not used, with the reasons.
    """

    batch_tokens: int
    batches_ahead: int
    layout: BatchLayout
    disabled: Mapping[str, str]

    def start(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        """Start the computation of a batch; the returned function waits for the numbers, in the order of `Asks`."""


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
    """Return the answers to all questions, by digest.

    `load` is called only if an answer is not stored. `batch_tokens` overrides the model's batch size. `names` maps
    questions to item ids, for error messages.
    """
    asked = {question.digest: question for question in questions}
    answers = store.get(fingerprint, asked)
    report(Progress(len(answers), len(asked)))
    if len(answers) == len(asked):
        return answers
    store.reject_read_only(len(asked) - len(answers))
    model = load()
    batches, padding = plan_model_batches(model, asked.values(), kind, batch_tokens)
    for new in answer_batches(model, batches, answers, names):
        store.put(fingerprint, new)
        answers.update(new)
        report(Progress(len(answers), len(asked), padding))
    return answers


def plan_model_batches(
    model: BatchAnswerer, questions: Iterable[Question], kind: Kind, batch_tokens: int | None = None
) -> tuple[list[Batch], float]:
    """Return the batches in which a model answers questions, and their share of padding."""
    # Set on the model too: an encoder-decoder divides a batch again by this size.
    size = model.batch_tokens = batch_tokens or model.batch_tokens
    batches = plan_batches(questions, kind, size, model.layout)
    return batches, compute_padding_share(batches, size, model.layout)


def answer_batches(
    model: BatchAnswerer,
    batches: Iterable[Batch],
    answers: Mapping[bytes, Answer],
    names: Mapping[bytes, str] | None = None,
) -> Iterator[dict[bytes, Answer]]:
    """For each batch, the answers that are not among `answers`."""
    for batch, numbers in _compute_numbers(model, _select_unanswered(batches, answers)):
        # If only some questions of a row were answered before, their answers are kept.
        new = {digest: answer for digest, answer in split_by_question(batch, numbers).items() if digest not in answers}
        if not np.isfinite(numbers).all():
            _reject_non_finite(new, names)
        yield new


def _reject_non_finite(answers: Mapping[bytes, Answer], names: Mapping[bytes, str] | None) -> None:
    """Raise an error that names the first item with an answer that is not finite."""
    for digest, answer in answers.items():
        if not np.isfinite(answer).all():
            raise ModelError(
                f"The model's answer about item {names[digest] if names else digest.hex()} is not a finite number; if "
                "it runs in half precision, try --dtype float32."
            )


def _select_unanswered(batches: Iterable[Batch], answers: Mapping[bytes, Answer]) -> Iterator[Batch]:
    """Yield the batches without rows that are fully answered; batches left empty are dropped."""
    if not answers:
        yield from batches
        return
    for batch in batches:
        if rows := [row for row in batch if not all(digest in answers for digest in row.questions)]:
            yield rows


def _compute_numbers(model: BatchAnswerer, batches: Iterable[Batch]) -> Iterator[tuple[Batch, NDArray[np.float32]]]:
    """Each batch with its numbers; the next `batches_ahead` batches are started before a batch is waited for."""
    started: deque[tuple[Batch, Callable[[], NDArray[np.float32]]]] = deque()
    for batch in batches:
        started.append((batch, _start_within_memory(model, batch)))
        if len(started) > model.batches_ahead:
            first, numbers = started.popleft()
            yield first, numbers()
    for first, numbers in started:
        yield first, numbers()


def _start_within_memory(model: BatchAnswerer, batch: Batch) -> Callable[[], NDArray[np.float32]]:
    """Start a batch; if memory does not suffice, its halves, recursively."""
    try:
        return model.start(batch)
    except (MemoryError, RuntimeError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if len(batch) == 1 or not _is_out_of_memory(error):
            raise
        logger.warning("Out of memory with %d rows in a batch; continuing with half as many.", len(batch))
    import torch  # here, since it takes seconds, and chat models are asked without it

    torch.cuda.empty_cache()  # does nothing if CUDA is not in use
    half = len(batch) // 2
    halves = [_start_within_memory(model, rows) for rows in (batch[:half], batch[half:])]
    return lambda: np.concatenate([numbers() for numbers in halves], axis=1)


def _is_out_of_memory(error: BaseException) -> bool:
    import torch

    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)
