"""What a way of scoring gives, and how far two outcomes are apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Outcome:
    """A score for every candidate, and the numbers it was made of, in the order of the protocol.

    The numbers are what the way itself works with: probabilities, or (`logs`) pieces of log-probabilities. They are
    brought to one form outside the timed part. A score that was made of logits has none: these are known but for a
    constant, and compare with nothing.
    """

    logs: bool
    scores: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, list] = field(default_factory=dict)
    padding: float = 0.0
    later: Callable[[], None] | None = None

    def settle(self) -> None:
        """Do what was left for after the timed part."""
        if self.later:
            later, self.later = self.later, None
            later()

    def log_probabilities(self) -> dict[str, NDArray[np.float64]]:
        """The log-probability of every token that a candidate's score was made of."""
        if self.logs:
            return {key: np.concatenate([np.empty(0), *found]) for key, found in self.numbers.items()}
        with np.errstate(divide="ignore"):
            return {key: np.log(np.array(found, dtype=np.float64)) for key, found in self.numbers.items()}


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest differences between two outcomes, in natural logarithms; None where there are no numbers."""

    token: float | None
    candidate: float
    sum: float | None
    candidates: int
    underflows: int

    def as_dict(self) -> dict[str, float | None]:
        """For the JSON file."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def difference(one: Outcome, other: Outcome, *, log_scores: bool = False) -> Difference:
    """Compare what both outcomes have: per token, per candidate's score, and per sum over a candidate's tokens.

    Scores are probabilities, or ratios of them, unless `log_scores`. A probability that underflowed to zero has no
    logarithm; such candidates are counted and left out. Where one of the two has no numbers, scores alone compare.
    """
    for outcome in (one, other):
        outcome.settle()
    ours, theirs = one.log_probabilities(), other.log_probabilities()
    tokens: list[float] = []
    candidates: list[float] = []
    sums: list[float] = []
    underflows = 0
    for key in ours.keys() & theirs.keys():
        a, b = ours[key], theirs[key]
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            underflows += 1
            continue
        scores = np.array([one.scores[key], other.scores[key]])
        candidates.append(float(np.ptp(scores if log_scores else np.log(scores))))
        if not (a.size and b.size):
            continue
        if len(a) != len(b):
            raise AssertionError(f"The two ways read {len(a)} and {len(b)} tokens of candidate {key}.")
        tokens.append(float(np.abs(a - b).max()))
        sums.append(float(abs(a.sum() - b.sum())))
    return Difference(
        max(tokens, default=None), max(candidates, default=0.0), max(sums, default=None), len(candidates), underflows
    )


def stereotype_score(items: Sequence, scores: Mapping[str, float]) -> float | None:
    """The percentage of items whose stereotype scores above its anti-stereotype; None for other forms of item."""
    wins = []
    for item in items:
        by_role = {c.role: scores.get(c.id) for c in getattr(item, "candidates", ())}
        stereotype, other = by_role.get("stereotype"), by_role.get("anti-stereotype")
        if stereotype is not None and other is not None:
            wins.append(stereotype > other)
    return 100 * sum(wins) / len(wins) if wins else None
