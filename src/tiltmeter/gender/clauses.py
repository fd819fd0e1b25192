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


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of a sentence, from `start` to before `end`."""

    sentence: Sequence[str]
    start: int
    end: int

    @property
    def positions(self) -> range:
        """Where its words are in the sentence."""
        return range(self.start, self.end)

    @property
    def words(self) -> Sequence[str]:
        """Its words."""
        return self.sentence[self.start : self.end]

    def has(self, wanted: frozenset[str]) -> bool:
        """Whether one of its words is among the wanted."""
        return not wanted.isdisjoint(self.words)

    def before(self, position: int) -> str:
        """The word before, or an empty one at the start of the clause."""
        return self.sentence[position - 1] if position > self.start else ""

    def after(self, position: int) -> str:
        """The word after, or an empty one at the end of the clause."""
        return self.sentence[position + 1] if position + 1 < self.end else ""

    def cue(self, rule: str, gender: Gender, position: int, *others: int) -> Cue:
        """A cue that the word at `position` decided, together with others."""
        return Cue(gender, tuple(self.sentence[place] for place in sorted((position, *others))), rule, position)


def clauses(sentence: Sequence[str], openers: frozenset[str]) -> Iterator[Clause]:
    """The stretches between punctuation marks; a word of `openers` starts a clause of its own.

    >>> [" ".join(clause.words) for clause in clauses(tokens("Vím, že prší a já jsem doma."), words("a"))]
    ['vím', 'že prší', 'a já jsem doma']
    """
    start = 0
    for position, token in enumerate(sentence):
        if not token[0].isalnum():
            if position > start:
                yield Clause(sentence, start, position)
            start = position + 1
        elif token in openers and position > start:
            yield Clause(sentence, start, position)
            start = position
    if start < len(sentence):
        yield Clause(sentence, start, len(sentence))


def by_endings(
    masculine: str,
    feminine: str,
    *,
    masculine_words: frozenset[str] = frozenset(),
    feminine_words: frozenset[str] = frozenset(),
    exceptions: frozenset[str] = frozenset(),
) -> WordGender:
    """A function that tells a word's gender by two regular expressions for endings, whole words, and exceptions."""
    man, woman = re.compile(f"(?:{masculine})$"), re.compile(f"(?:{feminine})$")

    @lru_cache(maxsize=50_000)
    def gender(word: str) -> Gender | None:
        if word in exceptions:
            return None
        if word in masculine_words:
            return MASCULINE
        if word in feminine_words:
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

    def find(self, clause: Clause) -> Iterator[tuple[int, Gender]]:
        """The (position, gender) of every predicate adjective in a clause."""
        for position in clause.positions:
            word = clause.sentence[position]
            if self._is_function_word(word) or clause.before(position) in self.prepositions:
                continue
            gender = self.adjective(word)
            if gender and not self._belongs_to_noun(clause, position, gender):
                yield position, gender

    def next_to(self, clause: Clause, at: int) -> tuple[int, Gender] | None:
        """The predicate adjective right after `at`, past small words, adverbs and short phrases, or right before it."""
        for position in range(at + 1, clause.end):
            word = clause.sentence[position]
            if self._is_function_word(word) or clause.before(position) in self.prepositions:
                continue
            if gender := self.adjective(word):
                return None if self._belongs_to_noun(clause, position, gender) else (position, gender)
            if not word.endswith(self.adverbs):
                break
        word, opening = clause.before(at), clause.before(at - 1)
        if word in self.function_words or not (gender := self.adjective(word)):
            return None
        # "How tired I am": what stands before the adjective is nothing or a small word, not the rest of a phrase.
        alone = not opening or (opening in self.function_words and opening not in self.prepositions)
        return (at - 1, gender) if alone else None

    def has_other_subject(self, clause: Clause, at: int, found: tuple[int, Gender], others: frozenset[str]) -> bool:
        """Whether what was found is in another half of the clause than `at`, and has another subject there.

        *I am at home and my husband left*: the half of "left" has "my" or, not knowing the word, opens with a noun
        that agrees.
        """
        position, gender = found
        between = range(min(at, position) + 1, max(at, position))
        coordinators = [place for place in between if clause.sentence[place] in self.coordinators]
        if not coordinators:
            return False
        after = (coordinators[-1] + 1, position)
        half = Clause(clause.sentence, *(after if position > at else (clause.start, coordinators[0])))
        if half.has(others):
            return True
        opening = next((word for word in half.words if word not in self.function_words), None)
        return opening is not None and opening != clause.sentence[position] and self.noun(opening, gender)

    def _is_function_word(self, word: str) -> bool:
        return word in self.function_words or word in self.prepositions

    def _belongs_to_noun(self, clause: Clause, position: int, gender: Gender) -> bool:
        following = clause.after(position)
        if not following or clause.sentence[position] in self.with_complement:
            return False
        if following in self.coordinators:
            # "A strong and less brave man": only a second adjective keeps the noun in sight.
            second = position + 2
            if clause.after(second - 1) in self.function_words:
                second += 1
            return self.adjective(clause.after(second - 1)) == gender and self._belongs_to_noun(clause, second, gender)
        if self._is_function_word(following):
            return False
        if self.noun(following, gender):
            return True
        # "The only qualified one": a second adjective may have a noun or not.
        return self.adjective(following) == gender and self._belongs_to_noun(clause, position + 1, gender)
