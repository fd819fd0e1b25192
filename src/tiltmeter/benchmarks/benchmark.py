"""What every benchmark gives: trials, and the items it could not ask about."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from tiltmeter.errors import TiltmeterError
from tiltmeter.forms import Item
from tiltmeter.questions import Answer, Kind, Question


class CannotAsk(TiltmeterError):  # noqa: N818 - a statement about the model, and often no error
    """A part of a benchmark asks for something this model does not have; the sentence says what."""


class Score(NamedTuple):
    """One number about one candidate (or sentence) of an item."""

    candidate: str
    role: str
    score: float


class Trial(NamedTuple):
    """The questions about one candidate or item, and how their answers become its scores."""

    item: Item
    questions: tuple[Question, ...]
    score: Callable[[Sequence[Answer]], list[Score]]


class Skipped(NamedTuple):
    """An item that a protocol cannot score."""

    item: str
    reason: str


@dataclass(slots=True)
class Asked:
    """One part of a benchmark in one language, put to one model: which kind of head answers, and what."""

    kind: Kind
    protocol: str
    trials: list[Trial] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


# How the scores of an item become a preference: by the ratio of the first two, by their difference, or by one number
# that has a sign already.
Unit = Literal["ratio", "difference", "signed"]


class ShownScores(NamedTuple):
    """The scores of an item that are shown beside its texts, by their roles, and how they are to be read."""

    roles: tuple[str, ...]
    unit: Unit


def _undivided(_kind: Kind) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Benchmark:
    """How items of one form are put to models, and which measures their scores go to.

    `ask(part, items, text, protocol=…)` makes the trials. `parts(kind)` are the parts in which all
    items are put to a model of that kind, where it is the benchmark that is divided; where it is the data, or nothing,
    there are none. `perturbations` are changes of an item, by name, that should not change what is measured. `shown`
    are the scores that a report shows of each item; without it, it shows none.
    """

    form: str
    protocols: tuple[str, ...]
    measures: str
    ask: Callable[..., Asked]
    parts: Callable[[Kind], tuple[str, ...]] = _undivided
    perturbations: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    shown: ShownScores | None = None


def log_mean(answers: Sequence[Answer]) -> float:
    """The mean of all log-probabilities: the logarithm of their geometric mean.

    >>> float(log_mean([np.log([0.5, 0.125], dtype=np.float32)])) == float(np.log(np.float32(0.25)))
    True
    """
    return float(np.concatenate(answers).astype(np.float64).mean())
