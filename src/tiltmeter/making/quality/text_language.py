"""Whether a translated text is still in the source language, by the package py3langid."""

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from tiltmeter.forms.word_difference import find_word_spans
from tiltmeter.language_codes import get_base_code, is_same_language

# A text is reported if the source language has at least this share of the probability of both languages. Shorter texts
# are not judged, because their language is too uncertain.
_CONFIDENCE = 0.98
_FEWEST_WORDS = 4
# The language of fewer short texts, such as the words of a table, is too uncertain.
_FEWEST_TEXTS = 20


@dataclass(frozen=True)
class TextLanguage:
    """Decides between the source language and the target language of a text."""

    source: str
    identifier: Any

    def can_judge(self, text: str) -> bool:
        """Return whether the text has enough words to determine its language."""
        return len(list(find_word_spans(text))) >= _FEWEST_WORDS

    def is_source(self, text: str) -> bool:
        """Return whether the text is almost certainly in the source language."""
        if not self.can_judge(text):
            return False
        return float(dict(self.identifier.rank(text))[self.source]) >= _CONFIDENCE


@cache
def create_text_language(source_language: str, language: str) -> TextLanguage | None:
    """Return the decision between two languages; None if py3langid is not installed or does not know one of them.

    >>> create_text_language("en", "es").is_source("The teacher sang all day and all night.")
    True
    """
    if find_spec("py3langid") is None:
        return None
    identifier = copy(_load_identifier())
    source, own = get_base_code(source_language), get_base_code(language)
    if not {source, own} <= set(identifier.labels) or source == own:
        return None
    identifier.set_languages({source, own})
    return TextLanguage(source, identifier)


def find_other_language(texts: Iterable[str], language: str) -> str:
    """Return the code of the language in which most of the texts almost certainly are; empty if it is `language`.

    Short texts, such as words of a table, are judged together. The result is also empty if there are few texts, if
    py3langid is not installed or does not know `language`.

    >>> find_other_language(["freundlich", "fleißig", "schüchtern", "ungeduldig", "überheblich"] * 4, "es")
    'de'
    """
    words = list(texts)
    if find_spec("py3langid") is None or len(words) < _FEWEST_TEXTS:
        return ""
    ranked = _load_identifier().rank(". ".join(words))
    likely, share = ranked[0]
    known = {get_base_code(label) for label, _ in ranked}
    if get_base_code(language) not in known or is_same_language(likely, language) or share < _CONFIDENCE:
        return ""
    return str(likely)


@cache
def _load_identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
