"""Shared tokens, compared with a slow reference implementation of longest matching blocks."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.benchmark import UnsupportedPart
from tiltmeter.benchmarks.token_alignment import find_shared_positions, find_text_positions
from tiltmeter.questions import EncodedText

tokens = st.lists(st.integers(0, 6), max_size=25)


def naive(first: list[int], second: list[int], first_start: int = 0, second_start: int = 0) -> list[tuple[int, int]]:
    """Find the longest common block (the first in `first`, then in `second`), and recurse to its left and right."""
    best = (0, 0, 0)
    for i in range(len(first)):
        for j in range(len(second)):
            length = 0
            while i + length < len(first) and j + length < len(second) and first[i + length] == second[j + length]:
                length += 1
            if length > best[2]:
                best = (i, j, length)
    i, j, length = best
    if not length:
        return []
    return [
        *naive(first[:i], second[:j], first_start, second_start),
        *((first_start + i + step, second_start + j + step) for step in range(length)),
        *naive(first[i + length :], second[j + length :], first_start + i + length, second_start + j + length),
    ]


@given(tokens, tokens)
def test_shared_tokens_are_those_of_the_longest_blocks(first: list[int], second: list[int]) -> None:
    assert find_shared_positions(first, second) == naive(first, second)


@given(tokens, tokens)
def test_shared_tokens_are_the_same_tokens_in_the_same_order(first: list[int], second: list[int]) -> None:
    positions = find_shared_positions(first, second)
    assert all(first[i] == second[j] for i, j in positions)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(positions))


def test_a_sentence_shares_all_with_itself() -> None:
    assert find_shared_positions([3, 1, 3], [3, 1, 3]) == [(0, 0), (1, 1), (2, 2)]


def test_in_long_texts_a_popular_token_begins_no_block() -> None:
    """The autojunk heuristic of difflib, which the released code uses too: from 200 tokens on."""
    filler = list(range(100, 299))
    short, long = [1, 7, 1], [*filler[:50], 1, *filler[50:], *[1] * 5]
    assert Counter(long)[1] > 1 + len(long) // 100
    assert find_shared_positions(short, long) == []
    assert find_shared_positions([1, 100], long) == [(1, 0)]


@pytest.mark.parametrize(
    ("whole", "alone", "positions"),
    [
        ((101, 7, 8, 102), (7, 8), range(1, 3)),
        ((7, 8, 1), (7, 8), range(2)),
        ((101, 102), (), range(0)),
        ((7, 8), (7, 8), range(2)),
    ],
)
def test_special_tokens_are_no_part_of_the_text(
    whole: tuple[int, ...], alone: tuple[int, ...], positions: range
) -> None:
    assert find_text_positions(EncodedText(whole), EncodedText(alone)) == positions


def test_a_text_that_is_tokenized_differently_inside_its_input_is_unsupported() -> None:
    with raises_mentioning(UnsupportedPart, "splits a text differently"):
        find_text_positions(EncodedText((101, 7, 9, 102)), EncodedText((7, 8)))
