"""Splitting sentences from texts, selecting usable sentences, and comparing sentences."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from unicodedata import normalize

from tiltmeter.language_codes import get_base_code

# Minimum number of words of a usable sentence. Most shorter sentences are labels and menu commands.
MIN_WORDS = 4
# Maximum number of characters; longer sentences are cut. Two sentences of this length fill the 256 tokens of an input.
MAX_CHARACTERS = 500

_SPACES = re.compile(r"\s+")
_NOT_LETTERS = re.compile(r"[!-@\[-`{-~]")
# Characters of scripts without spaces between words; two of these characters count as one word.
_NO_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


@dataclass(frozen=True)
class Sentence:
    """A sentence and its index among all sentences of its article, including sentences that are not used."""

    position: int
    text: str


def split_sentences(blocks: Iterable[str], language: str) -> Iterator[str]:
    """Yield the sentences of blocks such as paragraphs; a sentence never continues in the next block."""
    segment = _import_segment()
    for block in blocks:
        for text in segment(get_base_code(language), normalise_text(block)):
            if stripped := text.strip():
                yield stripped


def select_usable_sentences(texts: Iterable[str]) -> Iterator[Sentence]:
    """Yield the sentences that have enough words and consist mostly of letters, cut to the maximum length."""
    for position, text in enumerate(texts):
        text = normalise_text(text)
        if count_words(text) >= MIN_WORDS and _is_mostly_letters(text):
            yield Sentence(position, cut_text(text))


def normalise_text(text: str) -> str:
    """Return the text in Unicode normal form C, with a single space in place of each sequence of white space.

    >>> normalise_text(" two\\u00a0 words\\n")
    'two words'
    """
    return _SPACES.sub(" ", normalize("NFC", text)).strip()


def count_words(text: str) -> int:
    """Return the number of words that contain a letter or digit; in scripts without spaces, two characters are a word.

    >>> count_words("Open - the new file."), count_words("他昨天去了北京。")
    (4, 3)
    """
    without_spaces = len(_NO_SPACES.findall(text))
    rest = _NO_SPACES.sub(" ", text) if without_spaces else text
    return sum(any(map(str.isalnum, word)) for word in rest.split()) + without_spaces // 2


def cut_text(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Return the text up to the last space within the limit, or exactly `limit` characters if there is no space.

    >>> cut_text("one two three", 9)
    'one two'
    """
    if len(text) <= limit:
        return text
    shortened, _, _ = text[: limit + 1].rpartition(" ")
    return shortened or text[:limit]


def compute_digest(text: str) -> int:
    """Return a signed 64-bit hash of a text that ignores upper and lower case and differences of white space."""
    return int.from_bytes(blake2b(normalise_text(text).casefold().encode(), digest_size=8).digest(), "big", signed=True)


def _is_mostly_letters(text: str) -> bool:
    """Return whether more than half of the characters are letters, which is not the case in formulas."""
    # All characters outside ASCII count as letters, because vowel signs of Indic scripts are not letters in Unicode.
    return 2 * len(_NOT_LETTERS.findall(text)) < len(text) - text.count(" ")


@cache
def _import_segment():  # type: ignore[no-untyped-def]
    from sentencex import segment

    return segment
