"""Tools for the gender rules of all languages: normalisation, tokens, clauses, cues, endings, predicate adjectives."""

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
"""A function that maps a word form to the gender that the word form marks, or to None."""

NounTest = Callable[[str, Gender], bool]
"""A function that tells whether a word form can be a noun of a given gender."""


@dataclass(frozen=True, slots=True)
class Cue:
    """Words of a sentence that mark the speaker's gender.

    `words` are normalised word forms (lower case, NFC). `rule` is the name of the rule that found them. `position` is
    the index of the word that marks the gender.
    """

    gender: Gender
    words: tuple[str, ...]
    rule: str
    position: int


class Grammar(Protocol):
    """The rules that find the speaker's gender in one language."""

    def find_cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Yield every cue (words that mark the speaker's gender) in the tokens of a sentence, in any order."""


# Invisible characters: soft hyphen, zero-width spaces and joiners, direction marks, byte-order mark.
_INVISIBLE = [0x00AD, 0x061C, 0x180E, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065)]
_APOSTROPHES = "’ʼ‘ʹ′`´＇ꞌ‛"
_HYPHENS = "‐‑"
_CHARACTERS = (
    dict.fromkeys(_INVISIBLE, "") | dict.fromkeys(map(ord, _APOSTROPHES), "'") | dict.fromkeys(map(ord, _HYPHENS), "-")
)

# Stress marks on Cyrillic vowels (за́мок) are not part of the spelling.
_STRESS = re.compile("(?<=[аеёиоуыэюяєіїѐѝ])[\u0300\u0301]")

_TOKEN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+|[^\w\s]|_")


def normalise_text(text: str) -> str:
    """Return a text in lower case and NFC, without invisible characters and stress marks, with ASCII ' and -.

    >>> normalise_text("Ра\u0301да\u00ad, ob\u2019je\u030ct")
    "рада, ob'jět"
    """
    # Apostrophes are replaced before NFKC too, because NFKC turns U+00B4 into a space and an accent.
    text = unicodedata.normalize("NFKC", text.translate(_CHARACTERS)).translate(_CHARACTERS).lower()
    return unicodedata.normalize("NFC", _STRESS.sub("", text))


def tokenize(text: str) -> list[str]:
    """Return the normalised words and punctuation marks of a text.

    >>> tokenize("Bol(a) som tam, 3-krát.")
    ['bol', '(', 'a', ')', 'som', 'tam', ',', '3', '-', 'krát', '.']
    """
    matches: list[str] = _TOKEN.findall(normalise_text(text))
    return matches


def parse_words(text: str) -> frozenset[str]:
    """Split a string at whitespace, and return the set of its words."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: the tokens of `sentence` from index `start` (included) to index `end` (not included)."""

    sentence: Sequence[str]
    start: int
    end: int

    @property
    def positions(self) -> range:
        """The indexes of the clause's words in the sentence."""
        return range(self.start, self.end)

    @property
    def words(self) -> Sequence[str]:
        """The words of the clause."""
        return self.sentence[self.start : self.end]

    def contains_word_of(self, word_list: frozenset[str]) -> bool:
        """Return whether the clause contains a word of `word_list`."""
        return not word_list.isdisjoint(self.words)

    def get_word_before(self, position: int) -> str:
        """Return the word before index `position`, or an empty string at the start of the clause."""
        return self.sentence[position - 1] if position > self.start else ""

    def get_word_after(self, position: int) -> str:
        """Return the word after index `position`, or an empty string at the end of the clause."""
        return self.sentence[position + 1] if position + 1 < self.end else ""

    def build_cue(self, rule: str, gender: Gender, position: int, *others: int) -> Cue:
        """Return a cue: the word that marks the gender, at index `position`, and the words at the indexes `others`."""
        return Cue(gender, tuple(self.sentence[index] for index in sorted((position, *others))), rule, position)


def split_clauses(sentence: Sequence[str], openers: frozenset[str]) -> Iterator[Clause]:
    """Yield the clauses of a sentence, which is split at punctuation marks and before words of `openers`.

    >>> tokens = tokenize("Vím, že prší a já jsem doma.")
    >>> [" ".join(clause.words) for clause in split_clauses(tokens, parse_words("a"))]
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


def build_ending_rule(
    masculine: str,
    feminine: str,
    *,
    masculine_words: frozenset[str] = frozenset(),
    feminine_words: frozenset[str] = frozenset(),
    exceptions: frozenset[str] = frozenset(),
) -> WordGender:
    """Return a function that maps a word to its gender.

    `masculine` and `feminine` are regular expressions for endings. Words in `masculine_words` and `feminine_words` have
    this gender whatever their ending. Words in `exceptions` have no gender.
    """
    masculine_ending, feminine_ending = re.compile(f"(?:{masculine})$"), re.compile(f"(?:{feminine})$")

    @lru_cache(maxsize=50_000)
    def get_word_gender(word: str) -> Gender | None:
        if word in exceptions:
            return None
        if word in masculine_words:
            return MASCULINE
        if word in feminine_words:
            return FEMININE
        if masculine_ending.search(word):
            return MASCULINE
        return FEMININE if feminine_ending.search(word) else None

    return get_word_gender


def build_noun_rule(
    *,
    feminine: tuple[str, ...],
    masculine: tuple[str, ...] = (),
    vowels: str = "",
    not_feminine: tuple[str, ...] = (),
    not_masculine: tuple[str, ...] = (),
) -> NounTest:
    """Return a function that tells, from the ending of a word, whether the word can be a noun of a given gender.

    Feminine nouns end in one of `feminine` but not in one of `not_feminine`. Masculine nouns end in one of `masculine`
    or, if `vowels` are given, in a consonant, but not in one of `not_masculine`.
    """

    def can_be_noun(word: str, gender: Gender) -> bool:
        if gender == FEMININE:
            return word.endswith(feminine) and not word.endswith(not_feminine)
        in_consonant = bool(vowels) and word[-1:] not in vowels
        return word.endswith(masculine) or (in_consonant and not word.endswith(not_masculine))

    return can_be_noun


def map_genders(masculine: str, feminine: str) -> dict[str, Gender]:
    """Return a mapping from word to gender; `masculine` and `feminine` are strings of words separated by spaces."""
    return dict.fromkeys(masculine.split(), MASCULINE) | dict.fromkeys(feminine.split(), FEMININE)


@dataclass(frozen=True)
class PredicateAdjectives:
    """A search for predicate adjectives. Attributive adjectives, which modify a noun, are excluded.

    `adjective` maps an adjective in the grammatical case of predicates to its gender. `noun` tells whether a word can
    be a noun of a given gender in this case. An adjective before one of `function_words` is not attributive. Adjectives
    in `with_complement` can have a noun as complement (*full of life*); they are not attributive either. `adverbs` are
    endings of adverbs.
    """

    adjective: WordGender
    noun: NounTest
    prepositions: frozenset[str]
    function_words: frozenset[str]
    coordinators: frozenset[str]
    with_complement: frozenset[str] = frozenset()
    adverbs: tuple[str, ...] = ()

    def find_adjectives(self, clause: Clause) -> Iterator[tuple[int, Gender]]:
        """Yield the index and gender of every predicate adjective in a clause."""
        for position in clause.positions:
            word = clause.sentence[position]
            if self._is_function_word(word) or clause.get_word_before(position) in self.prepositions:
                continue
            gender = self.adjective(word)
            if gender and not self._is_attributive(clause, position, gender):
                yield position, gender

    def find_adjective_next_to(self, clause: Clause, verb: int) -> tuple[int, Gender] | None:
        """Return the index and gender of the predicate adjective next to the verb at index `verb`, or None.

        The adjective is directly before the verb, or it follows the verb. If it follows, function words, adverbs and
        prepositional phrases of two words may be between the verb and the adjective.
        """
        for position in range(verb + 1, clause.end):
            word = clause.sentence[position]
            if self._is_function_word(word) or clause.get_word_before(position) in self.prepositions:
                continue
            if gender := self.adjective(word):
                return None if self._is_attributive(clause, position, gender) else (position, gender)
            if not word.endswith(self.adverbs):
                break
        word, opening = clause.get_word_before(verb), clause.get_word_before(verb - 1)
        if word in self.function_words or not (gender := self.adjective(word)):
            return None
        # "How tired I am": only a function word may precede the adjective. After any other word, the adjective is part
        # of a noun phrase.
        alone = not opening or (opening in self.function_words and opening not in self.prepositions)
        return (verb - 1, gender) if alone else None

    def has_other_subject(
        self, clause: Clause, verb: int, predicate: tuple[int, Gender], other_subjects: frozenset[str]
    ) -> bool:
        """Return whether a conjunction separates the predicate from the verb at index `verb`, and the subjects differ.

        `predicate` is the index and gender of the predicate. The subjects differ if the words between conjunction and
        predicate contain one of `other_subjects`, or start with a noun that agrees with the predicate. In *I am at home
        and my husband left*, the words between "and" and "left" contain "my".
        """
        position, gender = predicate
        between = range(min(verb, position) + 1, max(verb, position))
        coordinators = [index for index in between if clause.sentence[index] in self.coordinators]
        if not coordinators:
            return False
        after = (coordinators[-1] + 1, position)
        conjunct = Clause(clause.sentence, *(after if position > verb else (clause.start, coordinators[0])))
        if conjunct.contains_word_of(other_subjects):
            return True
        opening = next((word for word in conjunct.words if word not in self.function_words), None)
        return opening is not None and opening != clause.sentence[position] and self.noun(opening, gender)

    def _is_function_word(self, word: str) -> bool:
        return word in self.function_words or word in self.prepositions

    def _is_attributive(self, clause: Clause, position: int, gender: Gender) -> bool:
        """Return whether the adjective at index `position` modifies a noun that follows the adjective."""
        following = clause.get_word_after(position)
        if not following or clause.sentence[position] in self.with_complement:
            return False
        if following in self.coordinators:
            # "A strong and less brave man": the noun may follow the second of two coordinated adjectives.
            second = position + 2
            if clause.get_word_after(second - 1) in self.function_words:
                second += 1
            return self.adjective(clause.get_word_after(second - 1)) == gender and self._is_attributive(
                clause, second, gender
            )
        if self._is_function_word(following):
            return False
        if self.noun(following, gender):
            return True
        # "The only qualified doctor": the noun may follow a second adjective.
        return self.adjective(following) == gender and self._is_attributive(clause, position + 1, gender)
