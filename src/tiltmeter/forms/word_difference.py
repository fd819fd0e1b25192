"""Differences between two sentences, counted in words and independent of a model's tokenizer."""

import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import groupby, takewhile

from tiltmeter.forms.bounded_matcher import BoundedMatcher, MatchingLimitError
from tiltmeter.forms.case_folding import fold_case

# Thai and Lao, Burmese, Khmer, Japanese and Chinese are written without spaces: each character counts as a word.
_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x3400, 0x9FFF),
    (0x20000, 0x3FFFF),
)


@dataclass(frozen=True, slots=True)
class WordDifference:
    """The numbers of shared words, of changed words, and of words in the longest changed span."""

    shared: int
    changed: int
    longest: int


def compute_word_difference(first: str, second: str) -> WordDifference:
    """Count shared and changed words of two texts; where they differ, the longer of the two parts is counted.

    In long repetitive texts, all words between the first and the last difference count as changed.

    >>> compute_word_difference("My aunt knits a scarf.", "My two uncles knit a scarf.")
    WordDifference(shared=3, changed=3, longest=3)
    """
    own, other = split_words(first), split_words(second)
    try:
        opcodes = BoundedMatcher(own, other).get_opcodes()
    except MatchingLimitError:
        return _compute_outer_difference(own, other)
    shared = 0
    changed = [0]
    for tag, first_start, first_end, second_start, second_end in opcodes:
        if tag == "equal":
            shared += first_end - first_start
        else:
            changed.append(max(first_end - first_start, second_end - second_start))
    return WordDifference(shared, sum(changed), max(changed))


def find_swapped_words(first: str, second: str) -> tuple[str, str]:
    """Align two texts by words; return the differing words of the first text and of the second text, in lower case.

    >>> find_swapped_words("My aunt knits a scarf.", "My uncle knits a scarf.")
    ('aunt', 'uncle')
    """
    own, other = split_words(fold_case(first)), split_words(fold_case(second))
    try:
        opcodes = BoundedMatcher(own, other).get_opcodes()
    except MatchingLimitError:
        return "", ""
    changed = [opcode for opcode in opcodes if opcode[0] != "equal"]
    return (
        " ".join(word for _, start, end, _, _ in changed for word in own[start:end]),
        " ".join(word for _, _, _, start, end in changed for word in other[start:end]),
    )


def find_shared_start(first: str, second: str) -> str:
    """Return the words with which both texts begin, in lower case.

    >>> find_shared_start("The cook greeted the gardener because he", "The cook greeted the gardener because she")
    'the cook greeted the gardener because'
    """
    own, other = split_words(fold_case(first)), split_words(fold_case(second))
    same = takewhile(lambda pair: pair[0] == pair[1], zip(own, other, strict=False))
    return " ".join(word for word, _ in same)


def _compute_outer_difference(own: list[str], other: list[str]) -> WordDifference:
    """Return a word difference in which all words between the first and the last difference count as changed."""
    shorter = min(len(own), len(other))
    start = next((place for place in range(shorter) if own[place] != other[place]), shorter)
    end = next((place for place in range(shorter - start) if own[-1 - place] != other[-1 - place]), shorter - start)
    changed = max(len(own), len(other)) - start - end
    return WordDifference(start + end, changed, changed)


def split_words(text: str) -> list[str]:
    """Return the words of a text without punctuation; in scripts without spaces, each character is a word.

    >>> split_words("Mrs. Lee knits; 她织毛衣。")
    ['Mrs', 'Lee', 'knits', '她', '织', '毛', '衣']
    """
    return [text[start:end] for start, end in find_word_spans(text)]


def find_word_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end index of each word in a text.

    >>> find_word_spans("l'été")
    [(0, 1), (2, 5)]
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for character_class, run in groupby(text, _classify_character):
        end = start + len(list(run))
        if character_class == "letters":
            spans.append((start, end))
        elif character_class:
            spans += [(place, place + 1) for place in range(start, end)]
        start = end
    return spans


@cache
def _classify_character(character: str) -> str:
    # Combining marks (Unicode category M) belong to the word.
    if unicodedata.category(character)[0] not in "LMN":
        return ""
    point = ord(character)
    return "characters" if any(first <= point <= last for first, last in _UNSPACED) else "letters"


def is_script_without_spaces(text: str) -> bool:
    """Return whether a text contains characters of a script that is written without spaces."""
    return any(_classify_character(character) == "characters" for character in text)
