"""The class `Benchmark`, and what its `ask` returns: trials and skipped items."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from tiltmeter.errors import TiltmeterError
from tiltmeter.forms import Item
from tiltmeter.questions import Answer, Choice, Kind, Question


class UnsupportedPart(TiltmeterError):  # noqa: N818 - often not an error: the part is skipped for this model
    """A part of a benchmark cannot be run on this model; the message says what the model lacks."""


class Score(NamedTuple):
    """A score of one candidate (or sentence) of an item."""

    candidate: str
    role: str
    score: float


class Trial(NamedTuple):
    """The questions for one candidate or item, and the function from their answers to scores.

    `sides` may name the sentence that each question is about; a run can then keep what is said of each of its tokens.
    """

    item: Item
    questions: tuple[Question, ...]
    score: Callable[[Sequence[Answer]], list[Score]]
    sides: tuple[str, ...] = ()


class SkippedItem(NamedTuple):
    """An item that the protocol cannot score."""

    item: str
    reason: str


@dataclass(slots=True)
class PartTrials:
    """The trials of one part of a benchmark in one language for one model; `kind` is the kind of head that answers.

    `too_long` are items whose questions were not made because they would fill the memory, with their number of tokens.
    """

    kind: Kind
    protocol: str
    trials: list[Trial] = field(default_factory=list)
    skipped: list[SkippedItem] = field(default_factory=list)
    too_long: dict[str, int] = field(default_factory=dict)


# How the displayed scores express a preference: as the ratio of the first two, as their difference, or as one signed
# number.
Unit = Literal["ratio", "difference", "signed"]


class DisplayedScores(NamedTuple):
    """The scores (by role) that are displayed with an item's texts, and their unit."""

    roles: tuple[str, ...]
    unit: Unit


def _return_no_parts(_kind: Kind) -> tuple[str, ...]:
    return ()


def _forbid_splitting(_items: Sequence[Any]) -> bool:
    return False


def allow_splitting(_items: Sequence[Any]) -> bool:
    """Whether items can be asked about one by one: always."""
    return True


@dataclass(frozen=True, slots=True)
class Benchmark:
    """How items of one form become questions, and which measures their scores are for.

    `protocols` are the ways to ask, by name, each with what it does in a clause; the first is the default.
    `ask(part, items, text, protocol=…)` makes the trials. `parts(kind)` are the parts in which every item is asked of a
    model of that kind (such as GEST's templates); empty if the data are divided into parts, or nothing is.
    `perturbations` are transformations of an item, by name, that should not change the results. `shown` names the
    scores that a report displays for each item, if any. `choice(item)` is the item as a choice between options; without
    it, chat models are not asked about items of this form. `choice_measures` are the measures of what they choose.
    `item_by_item(items)` says whether `ask` makes the same trials of these items if it is called with some of them at a
    time; a run of very many items then takes little memory.
    """

    form: str
    protocols: Mapping[str, str]
    measures: str
    ask: Callable[..., PartTrials]
    parts: Callable[[Kind], tuple[str, ...]] = _return_no_parts
    perturbations: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    shown: DisplayedScores | None = None
    choice: Callable[[Any], Choice] | None = None
    choice_measures: str = "choices"
    item_by_item: Callable[[Sequence[Any]], bool] = _forbid_splitting


def compute_log_mean(answers: Sequence[Answer]) -> float:
    """The mean of all log-probabilities, which is the logarithm of the geometric mean of the probabilities.

    >>> float(compute_log_mean([np.log([0.5, 0.125], dtype=np.float32)])) == float(np.log(np.float32(0.25)))
    True
    """
    return float(np.concatenate(answers).astype(np.float64).mean())
