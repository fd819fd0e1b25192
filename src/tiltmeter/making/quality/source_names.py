"""Names in source texts: words that a translation may leave unchanged."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.given_names import load_name_list
from tiltmeter.forms.word_difference import find_word_spans
from tiltmeter.making.quality.dictionaries import Dictionary

# English words with these endings are usually names of peoples, languages or religions, which must be translated.
_DEMONYM = re.compile(r"\w*(?:[ai]an|ean|can|ish|ese|[lmnr]ic|[cs]h(?:wo)?m[ae]n)s?")
_SENTENCE_END = re.compile(r"[.!?…:]\W*$")
_SHORTEST_DEMONYM = 6


@dataclass(frozen=True)
class SourceNames:
    """The names of a set of source texts.

    `lower` counts words in lower case, and `capital` capitalised words that do not begin a sentence. `given` are given
    names. `dictionary` is the dictionary of the source language, if there is one.
    """

    lower: Counter[str] = field(default_factory=Counter)
    capital: Counter[str] = field(default_factory=Counter)
    given: frozenset[str] = frozenset()
    dictionary: Dictionary | None = None
    is_english: bool = True

    def has_name(self, word: str) -> bool:
        """Return whether a word is probably a name: it is capitalised, but not a demonym such as *Ethiopian*."""
        low = word.lower()
        if word in self.given or (len(word) > 1 and word.isupper()):
            return True
        if self.is_english and ((len(word) >= _SHORTEST_DEMONYM and _DEMONYM.fullmatch(low)) or self._is_plural(low)):
            return False
        if self.lower[low] > self.capital[low]:
            return False
        if word == low and self.dictionary is not None and self.dictionary.has_word(low):
            return False
        if self.capital[low]:
            return True
        # The word only begins sentences: it is a name if the dictionary has only the capitalised form.
        return (
            self.dictionary is not None
            and word[0].isupper()
            and self.dictionary.has_word(word)
            and not self.dictionary.has_word(low)
        )

    def _is_plural(self, low: str) -> bool:
        """Return whether a word is the plural of a capitalised word, such as *Turks*; given names have no plural."""
        singular = low.removesuffix("s")
        if singular == low or singular.capitalize() in self.given:
            return False
        known = self.dictionary is not None and self.dictionary.has_word(singular.capitalize())
        return known or self.capital[singular] > 0


def collect_names(texts: Iterable[str], language: str, dictionary: Dictionary | None = None) -> SourceNames:
    """Return the names of these source texts.

    >>> names = collect_names(["We met Ada in Turin.", "Turin is old.", "The Ethiopian chef met Ada."], "en")
    >>> names.has_name("Turin"), names.has_name("Ethiopian"), names.has_name("chef"), names.has_name("The")
    (True, False, False, False)
    """
    lower: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for text in texts:
        for start, end in find_word_spans(text):
            word = text[start:end]
            if word == BLANK or not word[0].isalpha():
                continue
            if word[0].islower():
                lower[word.lower()] += 1
            elif text[:start].strip(" \"'“”‘’«»(") and not _SENTENCE_END.search(text[:start]):
                capital[word.lower()] += 1
    known = load_name_list(language)
    given = frozenset(known.names) if known else frozenset[str]()
    return SourceNames(lower, capital, given, dictionary, language.startswith("en"))
