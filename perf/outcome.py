"""The result of a way of scoring, and the difference between two results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Outcome:
    """The score of every candidate, and the numbers from which it was computed, in the order of the protocol.

    The numbers are those that the implementation uses: probabilities or, with `logs`, lists of log-probabilities. They
    are converted to one form outside the timed part. Scores computed from logits have no numbers: logits are
    determined only up to a constant, so they cannot be compared.
    """

    logs: bool
    scores: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, list] = field(default_factory=dict)
    padding: float = 0.0
    later: Callable[[], None] | None = None

    def settle(self) -> None:
        """Do the work that was deferred to the end of the timed part."""
        if self.later:
            later, self.later = self.later, None
            later()

    def log_probabilities(self) -> dict[str, NDArray[np.float64]]:
        """Return the log-probabilities from which the score of each candidate was computed."""
        if self.logs:
            return {key: np.concatenate([np.empty(0), *logs]) for key, logs in self.numbers.items()}
        with np.errstate(divide="ignore"):
            return {key: np.log(np.array(values, dtype=np.float64)) for key, values in self.numbers.items()}


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest differences between two outcomes, in natural logarithms; None if there are no numbers."""

    token: float | None
    candidate: float
    sum: float | None
    candidates: int
    underflows: int

    def as_dict(self) -> dict[str, float | None]:
        """Return the fields by name, for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def difference(one: Outcome, other: Outcome, *, log_scores: bool = False) -> Difference:
    """Compare the candidates of both outcomes: by token, by score, and by the sum over a candidate's tokens.

    Scores are probabilities or ratios of them, unless `log_scores`. Candidates with a probability that underflowed to
    zero are counted and excluded. If one outcome has no numbers, only scores are compared.
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
    """Return the percentage of items whose stereotype has the higher score; None for other forms."""
    wins = []
    for item in items:
        by_role = {c.role: scores.get(c.id) for c in getattr(item, "candidates", ())}
        stereotype, other = by_role.get("stereotype"), by_role.get("anti-stereotype")
        if stereotype is not None and other is not None:
            wins.append(stereotype > other)
    return 100 * sum(wins) / len(wins) if wins else None
