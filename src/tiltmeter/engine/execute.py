"""Questions in, answers out: what is stored is not asked again, and what is asked is stored at once."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.plan import padding_share, plan
from tiltmeter.engine.rows import Batch, by_question
from tiltmeter.errors import ModelError
from tiltmeter.questions import Answer, Kind, Question

logger = logging.getLogger(__name__)


class BatchAnswerer(Protocol):
    """A loaded model: how much it takes at once, whether inputs may share prefixes or rows, and what it answers."""

    batch_tokens: int
    batches_ahead: int
    shares_prefixes: bool
    pack: int

    def answering(self) -> AbstractContextManager[None]:
        """A context around answering all batches."""

    def start(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        """Begin to answer a batch; what is returned waits for the numbers of each ask of each row, in order."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the answering is."""

    answered: int
    questions: int
    padding: float


Report = Callable[[Progress], None]


def answer_all(
    questions: Iterable[Question],
    *,
    kind: Kind,
    fingerprint: str,
    load: Callable[[], BatchAnswerer],
    store: AnswerStore,
    batch_tokens: int | None = None,
    names: Mapping[bytes, str] | None = None,
    report: Report = lambda _progress: None,
) -> Mapping[bytes, Answer]:
    """The answers to all questions, by digest.

    `load` is called only if a question is not stored yet. `batch_tokens` overrides what the model takes at once.
    `names` tells which item a question belongs to, for errors.
    """
    asked = {question.digest: question for question in questions}
    answers = store.get(fingerprint, asked)
    report(Progress(len(answers), len(asked), 0.0))
    if len(answers) == len(asked):
        return answers
    model = load()
    batches, padding = planned(model, asked.values(), kind, batch_tokens)
    with model.answering():
        for found in answer_batches(model, batches, answers, names):
            store.put(fingerprint, found)
            answers.update(found)
            report(Progress(len(answers), len(asked), padding))
    return answers


def planned(
    model: BatchAnswerer, questions: Iterable[Question], kind: Kind, batch_tokens: int | None = None
) -> tuple[list[Batch], float]:
    """The batches in which a model is asked, and the share of padding in them."""
    at_once = model.batch_tokens = batch_tokens or model.batch_tokens  # some models divide a batch again, by this
    batches = plan(questions, kind, at_once, share_prefixes=model.shares_prefixes, pack=model.pack)
    return batches, padding_share(batches, at_once, model.pack)


def answer_batches(
    model: BatchAnswerer,
    batches: Iterable[Batch],
    answers: Mapping[bytes, Answer],
    names: Mapping[bytes, str] | None = None,
) -> Iterator[dict[bytes, Answer]]:
    """The answers of each batch that are not among `answers` yet."""
    for batch, numbers in _answered(model, _unanswered(batches, answers)):
        # Of a row that was answered in part, the answers that are there stay.
        found = {digest: answer for digest, answer in by_question(batch, numbers).items() if digest not in answers}
        if not np.isfinite(numbers).all():
            _refuse_no_numbers(found, names)
        yield found


def _refuse_no_numbers(found: Mapping[bytes, Answer], names: Mapping[bytes, str] | None) -> None:
    """Name the first item about which an answer is no finite number."""
    for digest, answer in found.items():
        if not np.isfinite(answer).all():
            raise ModelError(
                f"The model's answer about item {names[digest] if names else digest.hex()} is not a finite number; if "
                "it runs in half precision, try --dtype float32."
            )


def _unanswered(batches: Iterable[Batch], answers: Mapping[bytes, Answer]) -> Iterator[Batch]:
    """The batches with what is left to answer in them, if anything is."""
    if not answers:
        yield from batches
        return
    for batch in batches:
        if rows := [row for row in batch if not all(digest in answers for digest in row.questions)]:
            yield rows


def _answered(model: BatchAnswerer, batches: Iterable[Batch]) -> Iterator[tuple[Batch, NDArray[np.float32]]]:
    """Each batch with its numbers. Some batches are started before the first is waited for."""
    started: deque[tuple[Batch, Callable[[], NDArray[np.float32]]]] = deque()
    for batch in batches:
        started.append((batch, _start_within_memory(model, batch)))
        if len(started) > model.batches_ahead:
            first, numbers = started.popleft()
            yield first, numbers()
    for first, numbers in started:
        yield first, numbers()


def _start_within_memory(model: BatchAnswerer, batch: Batch) -> Callable[[], NDArray[np.float32]]:
    """Start a batch; where memory does not suffice, its halves."""
    try:
        return model.start(batch)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if len(batch) == 1 or not _is_out_of_memory(error):
            raise
        logger.warning("Out of memory with %d rows of text at once; going on with half as many.", len(batch))
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    half = len(batch) // 2
    halves = [_start_within_memory(model, rows) for rows in (batch[:half], batch[half:])]
    return lambda: np.concatenate([numbers() for numbers in halves], axis=1)


def _is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)
