"""The sentences of an article."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from unicodedata import normalize

# Shorter sentences are mostly labels and commands of a menu, and are not used.
MIN_WORDS = 4
# Longer ones are cut: two sentences of this length fill the 256 tokens that heads are trained with.
MAX_CHARACTERS = 500

_SPACES = re.compile(r"\s+")
_NOT_LETTERS = re.compile(r"[!-@\[-`{-~]")
# Scripts without spaces between words: two characters count as a word.
_NO_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


@dataclass(frozen=True)
class Sentence:
    """A sentence and its position among all sentences of its article, used ones and others."""

    position: int
    text: str


def split_sentences(blocks: Iterable[str], language: str) -> Iterator[str]:
    """All sentences of an article's blocks, such as paragraphs; a sentence never goes on in the next block."""
    segment = _import_segment()
    for block in blocks:
        for text in segment(get_base_language(language), normalise_text(block)):
            if stripped := text.strip():
                yield stripped


def select_usable_sentences(texts: Iterable[str]) -> Iterator[Sentence]:
    """The sentences that are long enough and mostly letters, cut to the longest length."""
    for position, text in enumerate(texts):
        text = normalise_text(text)
        if count_words(text) >= MIN_WORDS and _is_mostly_letters(text):
            yield Sentence(position, cut_text(text))


def normalise_text(text: str) -> str:
    """The text with single spaces, in Unicode's composed form.

    >>> normalise_text(" two\\u00a0 words\\n")
    'two words'
    """
    return _SPACES.sub(" ", normalize("NFC", text)).strip()


def count_words(text: str) -> int:
    """The number of words with a letter or digit; in scripts without spaces, every two characters are one.

    >>> count_words("Open - the new file."), count_words("他昨天去了北京。")
    (4, 3)
    """
    without_spaces = len(_NO_SPACES.findall(text))
    rest = _NO_SPACES.sub(" ", text) if without_spaces else text
    return sum(any(map(str.isalnum, word)) for word in rest.split()) + without_spaces // 2


def cut_text(text: str, limit: int = MAX_CHARACTERS) -> str:
    """The text up to the last space within the limit, or up to the limit if there is none.

    >>> cut_text("one two three", 9)
    'one two'
    """
    if len(text) <= limit:
        return text
    shortened, _, _ = text[: limit + 1].rpartition(" ")
    return shortened or text[:limit]


def compute_digest(text: str) -> int:
    """A signed 64-bit number that is the same for sentences that differ in case and spaces only."""
    return int.from_bytes(blake2b(normalise_text(text).casefold().encode(), digest_size=8).digest(), "big", signed=True)


def get_base_language(language: str) -> str:
    """The language of a code with a region or script.

    >>> get_base_language("pt-BR")
    'pt'
    """
    return re.split("[-_]", language)[0].lower()


def _is_mostly_letters(text: str) -> bool:
    """Whether more than half of the characters are letters, as they are not in formulas and rows of numbers."""
    # Others than ASCII count as letters: vowel signs of Indic scripts are not letters by themselves.
    return 2 * len(_NOT_LETTERS.findall(text)) < len(text) - text.count(" ")


@cache
def _import_segment():  # type: ignore[no-untyped-def]
    from sentencex import segment

    return segment
