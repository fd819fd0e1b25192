"""A `difflib.SequenceMatcher` with a limit on its run time."""

from collections.abc import Mapping, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import TypeVar

# The maximum number of compared pairs of elements; this many comparisons take about a second. Sentences need a few
# thousand comparisons. For long repetitive texts, the number grows with the cube of the length.
_MOST_PAIRS = 3_000_000

_Element = TypeVar("_Element")


class MatchingLimitError(Exception):
    """Two sequences are too long and repetitive to be matched."""


class BoundedMatcher(SequenceMatcher[_Element]):
    """A `SequenceMatcher` that raises a `MatchingLimitError` instead of running for minutes.

    >>> BoundedMatcher("abc", "abd").get_matching_blocks()[0]
    Match(a=0, b=0, size=2)
    """

    def __init__(self, first: Sequence[_Element], second: Sequence[_Element], *, autojunk: bool = False) -> None:
        super().__init__(None, first, second, autojunk=autojunk)
        self._remaining = _MOST_PAIRS
        # For each position in the first sequence: the number of pairs to compare for all elements before this position.
        places: Mapping[_Element, list[int]] = self.b2j  # type: ignore[attr-defined]
        self._pairs = list(accumulate((1 + len(places.get(element, ())) for element in first), initial=0))

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """Return the longest matching block of a[alo:ahi] and b[blo:bhi]."""
        self._remaining -= self._pairs[-1 if ahi is None else ahi] - self._pairs[alo]
        if self._remaining < 0:
            raise MatchingLimitError
        return super().find_longest_match(alo, ahi, blo, bhi)
