"""Perturbations: changes of the texts of an item that should not change the results.

no-final-punctuation    remove the punctuation at the end of sentences
lower-case              convert all letters to lower case
quoted                  put sentences in quotation marks
other-names             replace given names by other names of the same gender, from a list for each language
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tiltmeter.forms import get_form
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.given_names import load_name_list
from tiltmeter.language_codes import get_base_code

# Maps a text, its language and its type (`TextType`) to the changed text.
_Change = Callable[[str, str, str], str]
_QUOTES = {"de": "„“", "cs": "„“", "sk": "„“", "sl": "„“", "pl": "„”", "hu": "„”", "fr": "«»", "ru": "«»", "uk": "«»"}
_TURKIC = ("tr", "az")
_WORD = re.compile(r"\w+")


def build_perturbations(form: str, names: Sequence[str]) -> dict[str, Callable[[Any], Any]]:
    """Return a dictionary from the names of perturbations to functions that return a changed item of this form."""
    return {name: _apply_to_items(form, _CHANGES[name]) for name in names}


def _apply_to_items(form: str, change: _Change) -> Callable[[Any], Any]:
    def perturb(item: Any) -> Any:
        known = get_form(form)
        texts = known.translatable(item)
        changed = {field: change(text, item.language, known.text_kind(field)) for field, text in texts.items()}
        return item if changed == texts else known.with_texts(item, item.language, changed)

    return perturb


def remove_final_punctuation(text: str, _language: str, kind: str) -> str:
    """Return a sentence or context without its final punctuation; return other kinds of text, such as words, unchanged.

    >>> remove_final_punctuation("She knits...", "en", "sentence"), remove_final_punctuation("Mr.", "en", "word")
    ('She knits', 'Mr.')
    """
    if kind not in ("sentence", "context"):
        return text
    end = len(text.rstrip())
    while end and unicodedata.category(text[end - 1]) == "Po":
        end -= 1
    return text[:end] or text


def to_lower_case(text: str, language: str, _kind: str) -> str:
    """Return a text in lower case, except the placeholder BLANK.

    >>> to_lower_case("Mrs. Lee was BLANK.", "en", "context"), to_lower_case("IŞIK İYİ", "tr", "sentence")
    ('mrs. lee was BLANK.', 'ışık iyi')
    """
    return BLANK.join(_lower_case_letters(piece, language) for piece in text.split(BLANK))


def _lower_case_letters(text: str, language: str) -> str:
    if get_base_code(language) in _TURKIC:
        text = text.replace("I", "ı").replace("İ", "i")
    return text.lower()


def quote_sentence(text: str, language: str, kind: str) -> str:
    """Return a sentence or context in the quotation marks of its language; return other kinds of text unchanged.

    >>> quote_sentence("She knits.", "en", "sentence"), quote_sentence("Sie strickt.", "de", "sentence")
    ('“She knits.”', '„Sie strickt.“')
    """
    if kind not in ("sentence", "context"):
        return text
    marks = _QUOTES.get(get_base_code(language), "“”")
    return f"{marks[0]}{text}{marks[1]}"


def replace_names(text: str, language: str, _kind: str) -> str:
    """Return a text in which each given name is replaced by the next name of the same gender in the list of names.

    The list contains the given names of the language; other names are not replaced.

    >>> replace_names("Mary saw John.", "en", "sentence")
    'Linda saw James.'
    """
    names = load_name_list(language)
    if names is None:
        return text
    following: Mapping[str, str] = {
        name: group[(place + 1) % len(group)]
        for group in (names.masculine, names.feminine)
        for place, name in enumerate(group)
    }
    return _WORD.sub(lambda word: following.get(word[0], word[0]), text)


_CHANGES: dict[str, _Change] = {
    "no-final-punctuation": remove_final_punctuation,
    "lower-case": to_lower_case,
    "quoted": quote_sentence,
    "other-names": replace_names,
}
