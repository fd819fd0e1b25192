"""Restore BLANK (the gap for a candidate word) in a translated context that has lost BLANK.

The position of BLANK is found in the translations of the filled contexts (the context with a candidate word filled in).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from tiltmeter.forms.blank import BLANK
from tiltmeter.translators.word_alignment import AlignedPair

# A function that takes a source sentence, its translation and a source word. It returns the start and end (indexes of
# characters) of the translated word in the translation, or None.
Locate = Callable[[str, str, str], tuple[int, int] | None]

# Maximum number of words that a blank may replace. If two translations differ in more words, they differ not only at
# the blank.
_MAX_WORDS = 3
_TOKENS = re.compile(r"\w+(?:['’]\w+)*|\s+|[^\w\s]")


def restore_blank(
    source: Mapping[str, str],
    words: Mapping[str, str],
    filled: Mapping[str, str],
    alone: Mapping[str, str],
    wanted: int,
    locate: Locate = lambda *_: None,
) -> str | None:
    """Return the translated context with BLANK, or None if the position of BLANK cannot be found.

    The keys of all mappings are the fields of candidate words. `source` has the source contexts with the word filled
    in, and `filled` has their translations. `words` has the source words, and `alone` has their translations without a
    context. `wanted` is the number of blanks in the context. `locate_word` finds a translated word in a sentence.

    >>> filled = {"a": "El cocinero era paciente hoy.", "b": "El cocinero era brusco hoy."}
    >>> restore_blank({}, {}, filled, {}, 1)
    'El cocinero era BLANK hoy.'
    """
    candidates = [_restore_by_word(filled[field], word, wanted) for field, word in alone.items() if field in filled]
    # _restore_by_difference and _restore_by_position find only one blank.
    if wanted == 1:
        by_difference = [_restore_by_difference(one, other) for one, other in combinations(filled.values(), 2)]
        candidates = by_difference + candidates
        candidates += [
            _restore_by_position(text, locate(source[field], text, words[field]))
            for field, text in filled.items()
            if field in words
        ]
    return next((text for text in candidates if text is not None), None)


def build_word_locator(aligned: Sequence[AlignedPair], pairs: Sequence[tuple[str, str]]) -> Locate:
    """Return a function that finds the translation of a word by word alignment; see `Locate`.

    `pairs` are sentences with their translations. `aligned` has the alignment of each pair, in the order of `pairs`.
    """
    by_pair = dict(zip(pairs, aligned, strict=True))

    def locate_word(source: str, translation: str, word: str) -> tuple[int, int] | None:
        pair = by_pair.get((source, translation))
        matches = list(re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", source))
        if pair is None or len(matches) != 1:
            return None
        start, end = matches[0].span()
        inside = {number for number, token in enumerate(pair.source) if start <= token.start < end}
        linked = pair.find_linked_words(inside, both=True) or pair.find_linked_words(inside, both=False)
        if not linked or max(linked) - min(linked) >= _MAX_WORDS:
            return None
        return pair.target[min(linked)].start, pair.target[max(linked)].end

    return locate_word


def _restore_by_difference(one: str, other: str) -> str | None:
    """Return a translation in which BLANK replaces the words that differ between two translations.

    Return None if the translations do not have a common part, or differ in too many words.
    """
    left, right = _TOKENS.findall(one), _TOKENS.findall(other)
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    middles = ["".join(tokens[start : len(tokens) - end]) for tokens in (left, right)]
    if not start + end or any(not 0 < len(re.findall(r"\w+", middle)) <= _MAX_WORDS for middle in middles):
        return None
    return "".join(left[:start]) + BLANK + "".join(left[len(left) - end :])


def _restore_by_word(sentence: str, word: str, wanted: int) -> str | None:
    """Return the sentence with BLANK instead of `word`; None unless the word occurs exactly `wanted` times."""
    pattern = rf"(?<!\w){re.escape(word.strip('.'))}(?!\w)" if word.strip(". ") else r"(?!)"
    text, count = re.subn(pattern, BLANK, sentence, flags=re.IGNORECASE)
    return text if count == wanted else None


def _restore_by_position(sentence: str, position: tuple[int, int] | None) -> str | None:
    if position is None:
        return None
    start, end = position
    return sentence[:start] + BLANK + sentence[end:]
