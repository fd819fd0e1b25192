"""Confirmation that a server holds the same model from the first answer of a run to the last.

A server can exchange its model between two requests, and its replies do not show it. Therefore the probes of the
self-test and randomly chosen questions of the run are asked again after every window of requests. The answers of a
window are stored only if all of them are equal up to the server's noise.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import ModelError
from tiltmeter.models.self_test import MOST_NOISE
from tiltmeter.questions import Answer, Question

# The number of requests between two confirmations, and of the run's questions that each of them asks again.
WINDOW = 450
AGAIN = 32
# For these shares of changed questions, the manifest has the probability that a confirmation notices the change.
_SHARES = (0.05, 0.1, 0.2)

Ask = Callable[[Sequence[Question]], Mapping[bytes, Answer]]


class ServerChangedError(ModelError):
    """A server that holds another model than before; answers since the last confirmation are not stored."""


class KnownAnswer(NamedTuple):
    """A question with an earlier answer of the server."""

    question: Question
    answer: Answer


class AnswerChanges(NamedTuple):
    """Answers of a server compared with its earlier ones: how many, how many changed, and the largest change."""

    asked: int
    changed: int
    largest: float


def compute_detection_probability(share: float, asked: int) -> float:
    """The probability that one of `asked` random questions is among the share whose answers changed.

    >>> round(compute_detection_probability(0.1, 32), 3)
    0.966
    """
    return 1 - (1 - share) ** asked


def compare_answers(ask: Ask, known: Sequence[KnownAnswer]) -> AnswerChanges:
    """Ask questions again and compare the log-probabilities.

    A question whose answer changed is asked once more: of thousands of values, some exceed the noise of the self-test.
    """
    changes = _measure_changes(ask, known)
    doubtful = [entry for entry in known if changes[entry.question.digest] > MOST_NOISE]
    for digest, change in _measure_changes(ask, doubtful).items():
        changes[digest] = min(change, changes[digest])
    changed = sum(change > MOST_NOISE for change in changes.values())
    return AnswerChanges(len(changes), changed, max(changes.values(), default=0.0))


def _measure_changes(ask: Ask, known: Sequence[KnownAnswer]) -> dict[bytes, float]:
    """The largest change of a log-probability of each question; a probability of zero counts as very improbable."""
    found = ask([question for question, _ in known]) if known else {}
    changes = {}
    for question, earlier in known:
        count = len(question.wanted)
        before, now = (np.nan_to_num(values[:count], nan=-1e4) for values in (earlier, found[question.digest]))
        changes[question.digest] = float(np.abs(before - now).max(initial=0.0))
    return changes


class Confirmation:
    """Confirms a served model during its runs."""

    def __init__(self, address: str, ask: Ask, probes: Sequence[KnownAnswer]) -> None:
        self._address, self._ask, self._probes = address, ask, list(probes)
        self._known: dict[bytes, KnownAnswer] = {}
        self._random = random.Random()  # not seeded: each run asks other questions again
        self.noise = 0.0
        self._done = self._asked = 0
        self._fewest = AGAIN

    def choose(self, questions: Sequence[Question]) -> list[Question]:
        """Questions of the run, chosen at random, to be asked first and again in the first confirmation."""
        return self._random.sample(questions, min(AGAIN, len(questions)))

    def remember(self, chosen: Sequence[Question], answers: Mapping[bytes, Answer]) -> None:
        """Keep answers that later confirmations can compare with."""
        for question in chosen[: max(0, WINDOW - len(self._known))]:
            if question.digest in answers:
                self._known[question.digest] = KnownAnswer(question, answers[question.digest])

    def matches_stored(self, questions: Mapping[bytes, Question], stored: Mapping[bytes, Answer]) -> bool:
        """Whether the server gives stored answers again; a random sample of them is asked."""
        sample = self._random.sample(list(stored), min(AGAIN, len(stored)))
        comparison = compare_answers(self._ask, [KnownAnswer(questions[digest], stored[digest]) for digest in sample])
        self._asked += comparison.asked
        return not comparison.changed

    def confirm(self, discarded: int) -> None:
        """Ask the probes and known questions of the run again; a ChangedServer if an answer is another one.

        `discarded` is the number of answers since the last confirmation, for the message.
        """
        of_run = self._random.sample(list(self._known.values()), min(AGAIN, len(self._known)))
        comparison = compare_answers(self._ask, [*self._probes, *of_run])
        self._done += 1
        self._asked += comparison.asked
        self._fewest = min(self._fewest, len(of_run))
        if not comparison.changed:
            self.noise = max(self.noise, comparison.largest)
            return
        raise ServerChangedError(
            f"The server at {self._address} no longer answers as before: {comparison.changed} of {comparison.asked} "
            f"texts that it was asked again changed, by up to {comparison.largest:.2f} (noise is at most "
            f"{MOST_NOISE}), so its model, precision or settings changed. The run stopped. {discarded:,} answers since "
            "the last confirmation were discarded, and earlier ones are kept; serve the first model and run the same "
            "command again to continue with it."
        )

    def describe(self) -> dict[str, Any]:
        """What the manifest says of the confirmations."""
        noticed = {f"{share:.0%}": round(compute_detection_probability(share, self._fewest), 3) for share in _SHARES}
        return {
            "confirmations": self._done,
            "every": WINDOW,
            "probes": len(self._probes),
            "items": self._fewest if self._done else 0,
            "asked_again": self._asked,
            **({"noticed": noticed} if self._done else {}),
        }


class UnconfirmedAnswers:
    """Answers of a run that stopped before they were confirmed, such as by a failure of the server.

    The next run asks the ones that came last again. If these are equal, the model was the same until the end, and all
    are confirmed. A run that is killed does not get to store them.
    """

    def __init__(self, store: AnswerStore, fingerprint: str) -> None:
        self._store, self._fingerprint = store, fingerprint
        self._keys = [f"{fingerprint} unconfirmed", f"{fingerprint} unconfirmed, last"]

    def keep(self, answers: Mapping[bytes, Answer]) -> None:
        """Store answers, in the order of their arrival, for the next run."""
        last = list(answers)[-AGAIN:]
        earlier = {digest: answer for digest, answer in answers.items() if digest not in last}
        for key, some in zip(self._keys, (earlier, {digest: answers[digest] for digest in last}), strict=True):
            if some:
                self._store.put(key, some)

    def settle(self, questions: Mapping[bytes, Question], ask: Ask) -> dict[bytes, Answer]:
        """The answers that turn out to be those of the model; they are stored as confirmed, and others are deleted."""
        earlier, last = (self._store.get(key, questions) for key in self._keys)
        found = {**earlier, **last}
        if not found:
            return {}
        # Without the ones that came last, the others cannot be confirmed.
        enough = len(last) >= min(AGAIN, len(found))
        same = (
            enough
            and not compare_answers(ask, [KnownAnswer(questions[digest], last[digest]) for digest in last]).changed
        )
        if same:
            self._store.put(self._fingerprint, found)
        for key in self._keys:
            self._store.delete(key, found)
        return found if same else {}


def split_into_windows(indices: Sequence[int]) -> Iterator[Sequence[int]]:
    """The requests in groups of those between two confirmations."""
    for start in range(0, math.ceil(len(indices) / WINDOW)):
        yield indices[start * WINDOW : (start + 1) * WINDOW]
