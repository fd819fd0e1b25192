"""Find untranslated text: words of the source that stand in the translation, and sentences in the source language.

Names, and words that the dictionary of the target language contains (cognates, loan words), are not reported. Without a
dictionary, the marks of the translation system for unknown words replace it; without marks, all unchanged words of at
least four letters are reported, and the finding says so.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.forms.word_difference import find_word_spans
from tiltmeter.language_codes import find_language_name, get_script_code
from tiltmeter.making.quality.dictionaries import Dictionary, describe_missing_dictionary, find_dictionary
from tiltmeter.making.quality.source_names import SourceNames, collect_names
from tiltmeter.making.quality.text_language import TextLanguage, create_text_language

UNTRANSLATED = "untranslated"
# Without a dictionary and without marks, shorter words are not reported, because they often exist in both languages.
_SHORTEST = 4
# A marked word that the dictionary has is a cognate, such as *karaoke*, or a chance match, such as *nun* in Galician.
# Marked words of at most this length are reported, because short words match by chance.
_LONGEST_CHANCE = 5


@dataclass(frozen=True, slots=True)
class UntranslatedText:
    """Untranslated text in one field: the words, or the whole text (`is_whole`), with a message for the reviewer."""

    field: str
    words: tuple[str, ...]
    is_whole: bool
    message: str


@dataclass(frozen=True)
class UntranslatedCheck:
    """The check of translations from `source_language` into `language`; `create_untranslated_check` builds it."""

    source_language: str
    language: str
    names: SourceNames
    dictionary: Dictionary | None = None
    identifier: TextLanguage | None = None

    @property
    def limits(self) -> str:
        """What is missing for a complete check, as the start of a sentence; empty if nothing is missing."""
        return "" if self.dictionary or self._scripts_differ else describe_missing_dictionary(self.language)

    @property
    def _scripts_differ(self) -> bool:
        return get_script_code(self.source_language) != get_script_code(self.language)

    def find_untranslated(
        self, source: Mapping[str, str], texts: Mapping[str, str], marked: Collection[str] | None = None
    ) -> list[UntranslatedText]:
        """Return the untranslated texts of an item.

        `source` and `texts` have the source texts and translations by field. `marked` are the words of the item that
        the translation system did not know; None if the system marks no words.
        """
        # Of several spellings in the source, the one in lower case decides whether the word is a name.
        originals = sorted({word for text in source.values() for word in _list_words(text)})
        known = {fold_case(word): word for word in originals}
        folded = None if marked is None else {fold_case(word) for word in marked}
        found = []
        for field, text in texts.items():
            standing = [word for word in _list_words(text) if fold_case(word) in known]
            words = [
                word for word in dict.fromkeys(standing) if self._is_untranslated(word, known[fold_case(word)], folded)
            ]
            is_whole = self.identifier is not None and self.identifier.is_source(text)
            if words or is_whole:
                found.append(UntranslatedText(field, tuple(words), is_whole, self._explain(words, folded, is_whole)))
        return found

    def _is_untranslated(self, word: str, original: str, marked: Collection[str] | None) -> bool:
        if self.names.has_name(original) or (original != word and self.names.has_name(word)):
            return False
        if self._scripts_differ:
            return True
        if marked is not None and fold_case(word) not in marked:
            return False
        if self.dictionary is not None and self.dictionary.has_word(word.lower()):
            return marked is not None and len(word) <= _LONGEST_CHANCE
        if self.dictionary is not None:
            return True
        return marked is not None or len(word) >= _SHORTEST

    def _explain(self, words: Iterable[str], marked: Collection[str] | None, is_whole: bool) -> str:
        own = find_language_name(self.language) or self.language
        original = find_language_name(self.source_language) or self.source_language
        parts = [f"The text is probably {original}, not {own}."] if is_whole else []
        if listed := ", ".join(words):
            parts.append(f"Words of the source that stand unchanged in the translation: {listed}.")
            if self.limits and marked is None:
                parts.append(f"Loan words are reported too, because {self.limits}.")
            elif self.limits:
                parts.append(f"The translation system did not know them; {self.limits}.")
        return " ".join(parts)


def create_untranslated_check(
    source_language: str, language: str, source_texts: Iterable[str], *, dictionary: Dictionary | None = None
) -> UntranslatedCheck:
    """Return the check for translations of these source texts; names are learned from the source texts.

    `dictionary` replaces the installed dictionary of the target language.
    """
    return UntranslatedCheck(
        source_language,
        language,
        collect_names(source_texts, source_language, find_dictionary(source_language)),
        dictionary or find_dictionary(language),
        create_text_language(source_language, language),
    )


def _list_words(text: str) -> list[str]:
    """Return the words of a text that a translation changes: letters only, at least two, without BLANK.

    >>> _list_words("In 1940 a BLANK-coloured chef didn't sing.")
    ['In', 'coloured', 'chef', 'didn', 'sing']
    """
    words = (text[start:end] for start, end in find_word_spans(text))
    return [word for word in words if len(word) > 1 and word != BLANK and not re.search(r"[\d_]", word)]
