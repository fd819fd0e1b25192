"""What the rule files of all nine languages share: clean words, clauses, cues, and the search for predicates."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

Gender = Literal["masculine", "feminine"]

MASCULINE: Gender = "masculine"
FEMININE: Gender = "feminine"

WordGender = Callable[[str], Gender | None]
"""The gender that a word form shows by itself, or None."""


@dataclass(frozen=True, slots=True)
class Cue:
    """A place in the sentence that shows the speaker's gender.

    `words` are the word forms as the rules saw them (lower case, normal form C), `rule` says what they are,
    `position` is the index of the deciding word.
    """

    gender: Gender
    words: tuple[str, ...]
    rule: str
    position: int


class Grammar(Protocol):
    """The rules of one language."""

    def cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Every cue in the tokens of a sentence, in any order."""


# Characters that show nothing: soft hyphen, zero-width spaces and joiners, direction marks, byte-order mark.
_INVISIBLE = [0x00AD, 0x061C, 0x180E, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065)]
_APOSTROPHES = "’ʼ‘ʹ′`´＇ꞌ‛"
_HYPHENS = "‐‑"
_CHARACTERS = (
    dict.fromkeys(_INVISIBLE, "") | dict.fromkeys(map(ord, _APOSTROPHES), "'") | dict.fromkeys(map(ord, _HYPHENS), "-")
)

# A stress mark on a Cyrillic vowel (за́мок) is a reading aid, not a letter.
_STRESS = re.compile("(?<=[аеёиоуыэюяєіїѐѝ])[\u0300\u0301]")

_TOKEN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+|[^\w\s]|_")


def clean(text: str) -> str:
    """Lower case, one normal form, no invisible characters, one kind of apostrophe.

    >>> clean("Ра\u0301да\u00ad, ob\u2019je\u030ct")
    "рада, ob'jět"
    """
    # Apostrophes go before the normal form too: it would turn U+00B4 into a space and an accent.
    text = unicodedata.normalize("NFKC", text.translate(_CHARACTERS)).translate(_CHARACTERS).lower()
    return unicodedata.normalize("NFC", _STRESS.sub("", text))


def tokens(text: str) -> list[str]:
    """The words and punctuation marks of a text, cleaned.

    >>> tokens("Bol(a) som tam, 3-krát.")
    ['bol', '(', 'a', ')', 'som', 'tam', ',', '3', '-', 'krát', '.']
    """
    found: list[str] = _TOKEN.findall(clean(text))
    return found


def words(text: str) -> frozenset[str]:
    """A word list written as text, for the rule files."""
    return frozenset(text.split())


def clauses(sentence: Sequence[str], openers: frozenset[str]) -> Iterator[tuple[int, int]]:
    """The (start, end) spans between punctuation marks; a word of `openers` starts a clause of its own."""
    start = 0
    for position, token in enumerate(sentence):
        if not token[0].isalnum():
            if position > start:
                yield start, position
            start = position + 1
        elif token in openers and position > start:
            yield start, position
            start = position
    if start < len(sentence):
        yield start, len(sentence)


def by_endings(
    masculine: str,
    feminine: str,
    *,
    men: frozenset[str] = frozenset(),
    women: frozenset[str] = frozenset(),
    but: frozenset[str] = frozenset(),
) -> WordGender:
    """A function that tells a word's gender by two regular expressions for endings, whole words, and exceptions."""
    man, woman = re.compile(f"(?:{masculine})$"), re.compile(f"(?:{feminine})$")

    @lru_cache(maxsize=50_000)
    def gender(word: str) -> Gender | None:
        if word in but:
            return None
        if word in men:
            return MASCULINE
        if word in women:
            return FEMININE
        if man.search(word):
            return MASCULINE
        return FEMININE if woman.search(word) else None

    return gender


@dataclass(frozen=True)
class Predicates:
    """Finds the adjective that is said of the subject, and passes over the one that belongs to a noun.

    `adjective` tells the gender of an adjective in the case of a predicate, `noun` whether a word could be a noun of
    this gender and case. No noun is waited for behind one of `function_words`, nor behind an adjective
    `with_complement`, whose next noun is its complement (*full of life*). `adverbs` are the endings of adverbs.
    """

    adjective: WordGender
    noun: Callable[[str, Gender], bool]
    prepositions: frozenset[str]
    function_words: frozenset[str]
    coordinators: frozenset[str]
    with_complement: frozenset[str] = frozenset()
    adverbs: tuple[str, ...] = ()

    def find(self, sentence: Sequence[str], start: int, end: int) -> Iterator[tuple[int, Gender]]:
        """The (position, gender) of every predicate adjective between `start` and `end`."""
        for position in range(start, end):
            word = sentence[position]
            if word in self.function_words or word in self.prepositions:
                continue
            if position > start and sentence[position - 1] in self.prepositions:
                continue
            gender = self.adjective(word)
            if gender and not self._belongs_to_noun(sentence, position, end, gender):
                yield position, gender

    def beside(self, sentence: Sequence[str], at: int, start: int, end: int) -> tuple[int, Gender] | None:
        """The predicate adjective right after `at`, past small words, adverbs and short phrases, or right before it."""
        for position in range(at + 1, end):
            word = sentence[position]
            if word in self.function_words or word in self.prepositions or sentence[position - 1] in self.prepositions:
                continue
            if gender := self.adjective(word):
                return None if self._belongs_to_noun(sentence, position, end, gender) else (position, gender)
            if not word.endswith(self.adverbs):
                break
        before = at - 1
        if before < start or sentence[before] in self.function_words:
            return None
        if gender := self.adjective(sentence[before]):
            opening = sentence[before - 1] if before > start else ""
            # "How tired I am": what stands before the adjective is nothing or a small word, not the rest of a phrase.
            if not opening or (opening in self.function_words and opening not in self.prepositions):
                return before, gender
        return None

    def of_other_subject(
        self, sentence: Sequence[str], at: int, found: tuple[int, Gender], start: int, others: frozenset[str]
    ) -> bool:
        """Whether a coordinator and then another subject than the one at `at` stand before what was found.

        *I am at home and my husband left*: the half of "left" has "my" or, not knowing the word, opens with a noun
        that agrees.
        """
        position, gender = found
        low, high = sorted((at, position))
        between = [place for place in range(low + 1, high) if sentence[place] in self.coordinators]
        if not between:
            return False
        half = sentence[between[-1] + 1 : position] if position > at else sentence[start : between[0]]
        if any(word in others for word in half):
            return True
        opening = next((word for word in half if word not in self.function_words), None)
        return opening is not None and opening != sentence[position] and self.noun(opening, gender)

    def _belongs_to_noun(self, sentence: Sequence[str], position: int, end: int, gender: Gender) -> bool:
        following = position + 1
        if following == end or sentence[position] in self.with_complement:
            return False
        word = sentence[following]
        if word in self.coordinators:
            # "A strong and less brave man": only a second adjective keeps the noun in sight.
            second = following + 1
            if second < end and sentence[second] in self.function_words:
                second += 1
            return (
                second < end
                and self.adjective(sentence[second]) == gender
                and self._belongs_to_noun(sentence, second, end, gender)
            )
        if word in self.function_words or word in self.prepositions:
            return False
        # Two adjectives side by side, with nothing between, wait for the same noun.
        return self.adjective(word) == gender or self.noun(word, gender)
