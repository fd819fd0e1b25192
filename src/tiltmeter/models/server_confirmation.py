"""Confirmation that a server uses the same model from the first answer of a run to the last answer.

A server can replace its model between two requests, and its replies do not show the change. Therefore, after every
window of `WINDOW` requests, the probes (the fixed sentences of the self-test) and a random sample of the run's
questions are sent again. The answers of a window are stored only if all repeated answers are equal to the earlier
answers, up to the noise of the server.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import ModelError
from tiltmeter.models.server_self_test import MAX_NOISE
from tiltmeter.questions import Answer, Question

# Maximum number of requests between two confirmations, and maximum number of questions that a confirmation repeats.
WINDOW = 450
REPEATED = 32
# For each of these shares of changed answers, the manifest reports the probability that a confirmation detects them.
_SHARES = (0.05, 0.1, 0.2)

Ask = Callable[[Sequence[Question]], Mapping[bytes, Answer]]


class ServerChangedError(ModelError):
    """The model on a server changed during a run; the answers since the last confirmation are not stored."""


class KnownAnswer(NamedTuple):
    """A question and the server's earlier answer to it."""

    question: Question
    answer: Answer


class AnswerChanges(NamedTuple):
    """A comparison of answers: numbers of compared and changed answers, largest change of a log-probability."""

    compared: int
    changed: int
    largest: float


def compute_detection_probability(share: float, sample_size: int) -> float:
    """Return the probability that a random sample contains a question whose answer changed.

    `share` is the share of all questions whose answers changed.

    >>> round(compute_detection_probability(0.1, 32), 3)
    0.966
    """
    return 1 - (1 - share) ** sample_size


def compare_answers(ask: Ask, known: Sequence[KnownAnswer]) -> AnswerChanges:
    """Ask questions again, and return the number of changed answers and the largest change of a log-probability.

    If an answer changed, its question is asked a third time, and the smaller change counts: among thousands of values,
    a few exceed the usual noise by chance.
    """
    changes = _measure_changes(ask, known)
    changed_once = [entry for entry in known if changes[entry.question.digest] > MAX_NOISE]
    for digest, change in _measure_changes(ask, changed_once).items():
        changes[digest] = min(change, changes[digest])
    changed = sum(change > MAX_NOISE for change in changes.values())
    return AnswerChanges(len(changes), changed, max(changes.values(), default=0.0))


def _measure_changes(ask: Ask, known: Sequence[KnownAnswer]) -> dict[bytes, float]:
    """Ask questions again; return a dictionary from digests to the largest change of a log-probability.

    NaN, which means a probability of zero, counts as a log-probability of -1e4.
    """
    answers = ask([question for question, _ in known]) if known else {}
    changes = {}
    for question, earlier in known:
        count = len(question.wanted)
        before, now = (np.nan_to_num(values[:count], nan=-1e4) for values in (earlier, answers[question.digest]))
        changes[question.digest] = float(np.abs(before - now).max(initial=0.0))
    return changes


class ServerConfirmation:
    """Checks during a run that the server does not replace its model."""

    def __init__(self, address: str, ask: Ask, probes: Sequence[KnownAnswer]) -> None:
        self._address, self._ask, self._probes = address, ask, list(probes)
        self._known: dict[bytes, KnownAnswer] = {}
        self._random = random.Random()  # without a seed, so that each run repeats different questions
        self.noise = 0.0
        self._confirmations = self._repeated = 0
        self._smallest_sample = REPEATED

    def choose_questions(self, questions: Sequence[Question]) -> list[Question]:
        """Return a random sample of the questions; the run asks them first, and the first confirmation repeats them."""
        return self._random.sample(questions, min(REPEATED, len(questions)))

    def remember_answers(self, chosen: Sequence[Question], answers: Mapping[bytes, Answer]) -> None:
        """Keep the answers to `chosen` for comparison in later confirmations; at most `WINDOW` answers are kept."""
        for question in chosen[: max(0, WINDOW - len(self._known))]:
            if question.digest in answers:
                self._known[question.digest] = KnownAnswer(question, answers[question.digest])

    def matches_stored(self, questions: Mapping[bytes, Question], stored: Mapping[bytes, Answer]) -> bool:
        """Return whether the server still gives the stored answers, after asking a random sample of questions again."""
        sample = self._random.sample(list(stored), min(REPEATED, len(stored)))
        comparison = compare_answers(self._ask, [KnownAnswer(questions[digest], stored[digest]) for digest in sample])
        self._repeated += comparison.compared
        return not comparison.changed

    def confirm_model(self, discarded: int) -> None:
        """Ask the probes and some of the run's questions again; raise a ServerChangedError if an answer changed.

        `discarded` is the number of answers since the last confirmation; the error message contains it.
        """
        sample = self._random.sample(list(self._known.values()), min(REPEATED, len(self._known)))
        comparison = compare_answers(self._ask, [*self._probes, *sample])
        self._confirmations += 1
        self._repeated += comparison.compared
        self._smallest_sample = min(self._smallest_sample, len(sample))
        if not comparison.changed:
            self.noise = max(self.noise, comparison.largest)
            return
        raise ServerChangedError(
            f"The model on the server at {self._address} changed during the run: {comparison.changed} of "
            f"{comparison.compared} repeated answers differ, by up to {comparison.largest:.2f} in log-probability "
            f"(noise is at most {MAX_NOISE}). The run stopped; {discarded:,} answers since the last confirmation were "
            "discarded, and earlier answers are kept. Restore the model, its precision and its settings on the server, "
            "and run the same command again to continue."
        )

    def describe(self) -> dict[str, Any]:
        """Return the entry `confirmation` of the run's manifest."""
        noticed = {
            f"{share:.0%}": round(compute_detection_probability(share, self._smallest_sample), 3) for share in _SHARES
        }
        return {
            "confirmations": self._confirmations,
            "every": WINDOW,
            "probes": len(self._probes),
            "items": self._smallest_sample if self._confirmations else 0,
            "asked_again": self._repeated,
            **({"noticed": noticed} if self._confirmations else {}),
        }


class UnconfirmedAnswers:
    """Answers of a run that stopped before the answers were confirmed, for example because the server failed.

    The next run asks the last `REPEATED` of these questions again. If the answers are equal, the model did not change
    before the end of the earlier run, and all unconfirmed answers become confirmed. A process that is killed loses its
    unconfirmed answers.
    """

    def __init__(self, store: AnswerStore, fingerprint: str) -> None:
        self._store, self._fingerprint = store, fingerprint
        self._keys = [f"{fingerprint} unconfirmed", f"{fingerprint} unconfirmed, last"]

    def store_answers(self, answers: Mapping[bytes, Answer]) -> None:
        """Store unconfirmed answers for the next run; `answers` must be in the order in which they arrived."""
        ordered = list(answers)
        for key, digests in zip(self._keys, (ordered[:-REPEATED], ordered[-REPEATED:]), strict=True):
            if digests:
                self._store.put(key, {digest: answers[digest] for digest in digests})

    def confirm_answers(self, questions: Mapping[bytes, Question], ask: Ask) -> dict[bytes, Answer]:
        """Ask the last questions of the earlier run again, and return the answers that are now confirmed.

        If the last answers are equal, all unconfirmed answers are stored as confirmed; otherwise all are deleted.
        """
        earlier, last = (self._store.get(key, questions) for key in self._keys)
        unconfirmed = {**earlier, **last}
        if not unconfirmed:
            return {}
        # Without the answers to the last questions, the earlier answers cannot be confirmed.
        is_complete = len(last) >= min(REPEATED, len(unconfirmed))
        known = [KnownAnswer(questions[digest], answer) for digest, answer in last.items()]
        is_same = is_complete and not compare_answers(ask, known).changed
        if is_same:
            self._store.put(self._fingerprint, unconfirmed)
        for key in self._keys:
            self._store.delete(key, unconfirmed)
        return unconfirmed if is_same else {}


def split_into_windows(indices: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield the indices of requests in groups of at most `WINDOW`."""
    for start in range(0, len(indices), WINDOW):
        yield indices[start : start + WINDOW]
