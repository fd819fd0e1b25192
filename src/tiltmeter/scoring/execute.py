"""Questions in, answers out: what is stored is not asked again, and what is asked is stored at once."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.questions import Answer, Kind, Question
from tiltmeter.scoring.plan import Batch, padding_share, plan
from tiltmeter.scoring.store import AnswerStore

logger = logging.getLogger(__name__)


class Answerer(Protocol):
    """A loaded model: how much it takes at once, whether its inputs may share prefixes, and what it answers."""

    batch_tokens: int
    shares_prefixes: bool

    def answer(self, batch: Batch) -> NDArray[np.float32]:
        """For each ask of each row, in order: its number, and the second one where `Want` names two."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the answering is."""

    answered: int
    questions: int
    padding: float


def answer_all(
    questions: Iterable[Question],
    *,
    kind: Kind,
    fingerprint: str,
    load: Callable[[], Answerer],
    store: AnswerStore,
    batch_tokens: int | None = None,
    name_of: Callable[[bytes], str] = bytes.hex,
    report: Callable[[Progress], None] = lambda _progress: None,
) -> Mapping[bytes, Answer]:
    """The answers to all questions, by digest.

    `load` is called only if a question is not stored yet. `batch_tokens` overrides what the model takes at once.
    `name_of` tells which item a question belongs to, for errors.
    """
    asked = {question.digest: question for question in questions}
    answers = store.get(fingerprint, asked)
    report(Progress(len(answers), len(asked), 0.0))
    if len(answers) == len(asked):
        return answers
    model = load()
    batches = plan(asked.values(), kind, batch_tokens or model.batch_tokens, share_prefixes=model.shares_prefixes)
    padding = padding_share(batches)
    for batch in batches:
        unanswered = [row for row in batch if not row.questions <= answers.keys()]
        if not unanswered:
            continue
        found = _by_question(unanswered, _answer_within_memory(model, unanswered), asked)
        for digest, answer in found.items():
            if not np.isfinite(answer).all():
                raise ModelError(
                    f"The model's answer about item {name_of(digest)} is not a finite number; if it runs in half "
                    "precision, try --dtype float32."
                )
        store.put(fingerprint, found)
        answers.update(found)
        report(Progress(len(answers), len(asked), padding))
    return answers


def _by_question(batch: Batch, numbers: NDArray[np.float32], asked: Mapping[bytes, Question]) -> dict[bytes, Answer]:
    found: dict[bytes, Answer] = {}
    asks = [ask for row in batch for ask in row.asks]
    for ask, value, second in zip(asks, *numbers, strict=True):
        question = asked[ask.question]
        pairs = len(question.wanted)
        if ask.question not in found:
            found[ask.question] = np.zeros(question.want.rows * pairs, dtype=np.float32)
        found[ask.question][ask.pair] = value
        if question.want.rows == 2:
            found[ask.question][pairs + ask.pair] = second
    return found


def _answer_within_memory(model: Answerer, batch: Batch) -> NDArray[np.float32]:
    """Answer a batch; where memory does not suffice, its halves."""
    try:
        return model.answer(batch)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if len(batch) == 1 or not _is_out_of_memory(error):
            raise
        logger.warning("Out of memory with %d rows of text at once; going on with half as many.", len(batch))
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    half = len(batch) // 2
    return np.concatenate(
        [_answer_within_memory(model, batch[:half]), _answer_within_memory(model, batch[half:])], axis=1
    )


def _is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)
