"""Matching blocks of two sequences as `difflib` finds them, in bounded time."""

from collections.abc import Mapping, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import TypeVar

# Pairs of equal elements that are looked at: about a second. Sentences need a few thousand; for long repetitive texts
# the number grows with the cube of their length.
_MOST_PAIRS = 3_000_000

_Element = TypeVar("_Element")


class MatchingLimitError(Exception):
    """Two sequences are so long and repetitive that their matching blocks are not looked for."""


class BoundedMatcher(SequenceMatcher[_Element]):
    """A `SequenceMatcher` with the same results, which raises a `MatchingLimitError` instead of taking minutes.

    >>> BoundedMatcher("abc", "abd").get_matching_blocks()[0]
    Match(a=0, b=0, size=2)
    """

    def __init__(self, first: Sequence[_Element], second: Sequence[_Element], *, autojunk: bool = False) -> None:
        super().__init__(None, first, second, autojunk=autojunk)
        self._left = _MOST_PAIRS
        # The number of pairs that are looked at for the elements before each position of the first sequence.
        places: Mapping[_Element, list[int]] = self.b2j  # type: ignore[attr-defined]
        self._pairs = list(accumulate((1 + len(places.get(element, ())) for element in first), initial=0))

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """The longest block in a part of both sequences."""
        self._left -= self._pairs[-1 if ahi is None else ahi] - self._pairs[alo]
        if self._left < 0:
            raise MatchingLimitError
        return super().find_longest_match(alo, ahi, blo, bhi)
