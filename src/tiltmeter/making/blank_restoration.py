"""Put BLANK back into a context whose placeholder was lost, from the translations of the filled contexts."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from tiltmeter.forms.blank import BLANK
from tiltmeter.translators.word_alignment import AlignedPair

# Called with a source sentence, its translation and a word of the former: where the word is in the translation, as
# (start, end) in characters, or None.
Locate = Callable[[str, str, str], tuple[int, int] | None]

# A blank is one word, or few; a longer difference of two translations is more than the words filled in.
_LONGEST = 3
_TOKENS = re.compile(r"\w+(?:['’]\w+)*|\s+|[^\w\s]")


def restore_blank(
    source: Mapping[str, str],
    words: Mapping[str, str],
    filled: Mapping[str, str],
    alone: Mapping[str, str],
    wanted: int,
    locate: Locate = lambda *_: None,
) -> str | None:
    """The translated context with BLANK, or None if its position cannot be told.

    The mappings are by the field of a word: the source contexts with the words filled in, the words, the translations
    of the former and those of the latter. `wanted` is the number of blanks.

    >>> filled = {"a": "El cocinero era paciente hoy.", "b": "El cocinero era brusco hoy."}
    >>> restore_blank({}, {}, filled, {}, 1)
    'El cocinero era BLANK hoy.'
    """
    found = [_restore_by_word(filled[field], word, wanted) for field, word in alone.items() if field in filled]
    if wanted == 1:  # the words are at one place only
        found = [_restore_by_difference(one, other) for one, other in combinations(filled.values(), 2)] + found
        found += [
            _restore_by_position(text, locate(source[field], text, words[field]))
            for field, text in filled.items()
            if field in words
        ]
    return next((text for text in found if text is not None), None)


def build_locator(aligned: Sequence[AlignedPair], pairs: Sequence[tuple[str, str]]) -> Locate:
    """A function that finds words by these alignments of sources with their translations."""
    by_pair = dict(zip(pairs, aligned, strict=True))

    def locate(source: str, translation: str, word: str) -> tuple[int, int] | None:
        pair = by_pair.get((source, translation))
        found = list(re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", source))
        if pair is None or len(found) != 1:
            return None
        start, end = found[0].span()
        inside = {number for number, token in enumerate(pair.source) if start <= token.start < end}
        linked = pair.linked(inside, both=True) or pair.linked(inside, both=False)
        if not linked or max(linked) - min(linked) >= _LONGEST:
            return None
        return pair.target[min(linked)].start, pair.target[max(linked)].end

    return locate


def _restore_by_difference(one: str, other: str) -> str | None:
    """The part in which two translations differ is the blank, if it is short."""
    left, right = _TOKENS.findall(one), _TOKENS.findall(other)
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    middles = ["".join(tokens[start : len(tokens) - end]) for tokens in (left, right)]
    if not start + end or any(not 0 < len(re.findall(r"\w+", middle)) <= _LONGEST for middle in middles):
        return None
    return "".join(left[:start]) + BLANK + "".join(left[len(left) - end :])


def _restore_by_word(sentence: str, word: str, wanted: int) -> str | None:
    """The blank is where the translation of the word by itself is found."""
    pattern = rf"(?<!\w){re.escape(word.strip('.'))}(?!\w)" if word.strip(". ") else r"(?!)"
    text, count = re.subn(pattern, BLANK, sentence, flags=re.IGNORECASE)
    return text if count == wanted else None


def _restore_by_position(sentence: str, position: tuple[int, int] | None) -> str | None:
    if position is None:
        return None
    start, end = position
    return sentence[:start] + BLANK + sentence[end:]
