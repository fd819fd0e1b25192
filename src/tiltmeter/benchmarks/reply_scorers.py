"""Scorers of replies from plug-ins: numbers from 0 to 1, such as how formal a reply is.

A package provides a scorer by an entry point of the group `tiltmeter.scorers`. Tiltmeter has no scorer of its own.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from tiltmeter.errors import UsageError
from tiltmeter.registry import load_components


@dataclass(frozen=True, slots=True)
class ReplyScorer:
    """A scorer: `score(reply, language)` returns a number from 0 to 1, or None if the reply cannot be scored."""

    name: str
    meaning: str
    score: Callable[[str, str], float | None]

    def compute_score(self, reply: str, language: str) -> float | None:
        """Return the score of a reply; raise a UsageError if the plug-in fails or returns another value."""
        try:
            value = self.score(reply, language)
        except Exception as error:  # a plug-in may raise any exception
            raise UsageError(
                f"The scorer {self.name!r} failed: {type(error).__name__}: {error}. Repair its package, or remove the "
                "scorer from the prompts."
            ) from error
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 or math.isnan(value):
            raise UsageError(
                f"The scorer {self.name!r} returned {value!r}; it must return a number from 0 to 1, or None."
            )
        return float(value)


def get_reply_scorer(name: str) -> ReplyScorer:
    """Return the scorer with this name; raise a UsageError if no installed package provides it."""
    scorers = _list_reply_scorers()
    if name not in scorers:
        known = f"the installed scorers are {', '.join(scorers)}" if scorers else "no installed package has a scorer"
        raise UsageError(
            f"There is no scorer {name!r} for replies; {known}. Install the package of the scorer, or remove it from "
            "the prompts."
        )
    return scorers[name]


@cache
def _list_reply_scorers() -> Mapping[str, ReplyScorer]:
    return load_components("scorers", (), ReplyScorer, lambda scorer: scorer.name)
