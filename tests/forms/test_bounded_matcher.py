"""Matching blocks are those of difflib, and long repetitive texts do not take minutes."""

import random
from difflib import SequenceMatcher

import pytest

from tiltmeter.benchmarks.pairs import _LONGEST_MASKED
from tiltmeter.forms.bounded_matcher import BoundedMatcher, MatchingLimitError
from tiltmeter.forms.word_difference import WordDifference, compute_word_difference
from tiltmeter.making.name_lists import find_unlisted_names
from tiltmeter.making.repair.grammatical_agreement import find_replacement_of_blank

# Repetitive words: every word of one text matches a tenth of the other, and there are many blocks.
CHANCE = random.Random(4)
FIRST, SECOND = ([CHANCE.choice("abcdefghij") for _ in range(4_000)] for _ in range(2))


@pytest.mark.parametrize("autojunk", [True, False])
@pytest.mark.parametrize("letters", ["ab", "abcdefgh", "abcdefghijklmnopqrstuvwxyz"])
def test_the_blocks_are_those_of_difflib(letters: str, autojunk: bool) -> None:
    chance = random.Random(len(letters))
    for length in (0, 1, 12, 250):
        first, second = ("".join(chance.choices(letters, k=length)) for _ in range(2))
        expected = SequenceMatcher(None, first, second, autojunk=autojunk)
        found = BoundedMatcher(first, second, autojunk=autojunk)
        assert found.get_opcodes() == expected.get_opcodes()
        assert found.ratio() == expected.ratio()


def test_long_repetitive_texts_are_not_matched() -> None:
    with pytest.raises(MatchingLimitError):
        BoundedMatcher(FIRST, SECOND).get_matching_blocks()
    assert len(FIRST) < _LONGEST_MASKED  # the limit on lengths alone would not do


def test_the_difference_of_long_texts_is_everything_between_the_first_and_the_last() -> None:
    first, second = (" ".join(["x", "x", *words, "y"]) for words in (FIRST, SECOND))
    start = next(place for place, (one, two) in enumerate(zip(FIRST, SECOND, strict=True)) if one != two)
    end = next(place for place, (one, two) in enumerate(zip(FIRST[::-1], SECOND[::-1], strict=True)) if one != two)
    changed = 4_000 - start - end
    assert compute_word_difference(first, second) == WordDifference(3 + start + end, changed, changed)


def test_long_texts_of_a_project_are_not_compared() -> None:
    first, second = " ".join(FIRST), " ".join(SECOND)
    assert find_unlisted_names(first, second, "en") == []
    assert find_replacement_of_blank(f"{first} BLANK", second) is None
