"""How far two sentences of a pair differ, in words, before any model's tokenizer has seen them."""

import unicodedata
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import groupby

# Thai and Lao, Burmese, Khmer, Japanese, Chinese: written without spaces, so each character is taken for a word.
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
    """The words that two sentences share, those that are changed, and the most that are changed in one stretch."""

    shared: int
    changed: int
    longest: int


def word_difference(one: str, other: str) -> WordDifference:
    """Count shared and changed words. Where a stretch has more words on one side, those are counted.

    >>> word_difference("My aunt knits a scarf.", "My two uncles knit a scarf.")
    WordDifference(shared=3, changed=3, longest=3)
    """
    matcher = SequenceMatcher(None, words(one), words(other), autojunk=False)
    shared = 0
    changed = [0]
    for tag, first, last, other_first, other_last in matcher.get_opcodes():
        if tag == "equal":
            shared += last - first
        else:
            changed.append(max(last - first, other_last - other_first))
    return WordDifference(shared, sum(changed), max(changed))


def words(text: str) -> list[str]:
    """The words of a text, without punctuation; in scripts that are written without spaces, its characters.

    >>> words("Mrs. Lee knits; 她织毛衣。")
    ['Mrs', 'Lee', 'knits', '她', '织', '毛', '衣']
    """
    runs = ((kind, "".join(run)) for kind, run in groupby(text, _kind))
    return [word for kind, run in runs if kind for word in (run if kind == "characters" else [run])]


@cache
def _kind(character: str) -> str:
    # Accents and vowel signs that are characters of their own are parts of a word.
    if unicodedata.category(character)[0] not in "LMN":
        return ""
    point = ord(character)
    return "characters" if any(first <= point <= last for first, last in _UNSPACED) else "letters"


def is_unspaced(text: str) -> bool:
    """Whether a text is in a script that is written without spaces."""
    return any(_kind(character) == "characters" for character in text)
