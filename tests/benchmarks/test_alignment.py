"""Shared tokens, against the definition of the longest matching block written out."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.benchmarks.alignment import shared_places, text_places
from tiltmeter.benchmarks.benchmark import CannotAsk
from tiltmeter.questions import Encoded

tokens = st.lists(st.integers(0, 6), max_size=25)


def naive(one: list[int], other: list[int], first: int = 0, second: int = 0) -> list[tuple[int, int]]:
    """The longest common run, of several the one that begins first in one, then in other; then left and right of it."""
    best = (0, 0, 0)
    for i in range(len(one)):
        for j in range(len(other)):
            length = 0
            while i + length < len(one) and j + length < len(other) and one[i + length] == other[j + length]:
                length += 1
            if length > best[2]:
                best = (i, j, length)
    i, j, length = best
    if not length:
        return []
    return [
        *naive(one[:i], other[:j], first, second),
        *((first + i + step, second + j + step) for step in range(length)),
        *naive(one[i + length :], other[j + length :], first + i + length, second + j + length),
    ]


@given(tokens, tokens)
def test_shared_tokens_are_those_of_the_longest_blocks(one: list[int], other: list[int]) -> None:
    assert shared_places(one, other) == naive(one, other)


@given(tokens, tokens)
def test_shared_tokens_are_the_same_tokens_in_the_same_order(one: list[int], other: list[int]) -> None:
    places = shared_places(one, other)
    assert all(one[i] == other[j] for i, j in places)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(places))


def test_a_sentence_shares_all_with_itself() -> None:
    assert shared_places([3, 1, 3], [3, 1, 3]) == [(0, 0), (1, 1), (2, 2)]


def test_in_long_texts_a_popular_token_begins_no_block() -> None:
    """As difflib has it by default, and with it the released code: from 200 tokens on."""
    filler = list(range(100, 299))
    short, long = [1, 7, 1], [*filler[:50], 1, *filler[50:], *[1] * 5]
    assert Counter(long)[1] > 1 + len(long) // 100
    assert shared_places(short, long) == []
    assert shared_places([1, 100], long) == [(1, 0)]


@pytest.mark.parametrize(
    ("whole", "alone", "places"),
    [
        ((101, 7, 8, 102), (7, 8), range(1, 3)),
        ((7, 8, 1), (7, 8), range(2)),
        ((101, 102), (), range(0)),
        ((7, 8), (7, 8), range(2)),
    ],
)
def test_special_tokens_are_no_part_of_the_text(whole: tuple[int, ...], alone: tuple[int, ...], places: range) -> None:
    assert text_places(Encoded(whole), Encoded(alone)) == places


def test_a_text_that_is_cut_differently_inside_its_input_cannot_be_asked_about() -> None:
    with pytest.raises(CannotAsk, match="cuts a text differently"):
        text_places(Encoded((101, 7, 9, 102)), Encoded((7, 8)))
