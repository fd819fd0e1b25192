"""Detection of English sentences in articles of other languages."""

from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

from tiltmeter.training.sentences import get_base_language

# The probability from which a sentence is assigned to another language than that of its article. In software help in
# German, French, Spanish and Turkish, 84 to 99% of English sentences are detected (55% if only command strings are
# English), and less than 0.1% of the other sentences are classified as English.
CONFIDENCE = 0.9
# The languages that are considered besides those of the articles. With more languages, short sentences would be
# assigned to small related languages, such as Spanish to Aragonese.
_CANDIDATES = ("ar", "de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "tr", "zh")


@dataclass(frozen=True)
class LanguageCheck:
    """A check of sentences against the language of their article."""

    language: str
    identifier: Any

    def other_language(self, text: str) -> str | None:
        """Return English or another language if the sentence is probably in it; otherwise None."""
        likelihood = dict(self.identifier.rank(text))
        own = likelihood.pop(self.language)
        if self.language != "en" and likelihood["en"] >= CONFIDENCE * (likelihood["en"] + own):
            return "en"
        other = max(likelihood, key=lambda language: likelihood[language])
        return other if likelihood[other] >= CONFIDENCE * (likelihood[other] + own) else None


@cache
def create_language_check(language: str, languages: frozenset[str]) -> LanguageCheck | None:
    """Return the check for articles in a language; None if the language is not supported.

    >>> create_language_check("de", frozenset({"de", "en"})).other_language("This sentence has not been translated.")
    'en'
    """
    own = get_base_language(language)
    known = set(_load_identifier().labels)
    if own not in known:
        return None
    # Each copy has its own set of languages; the large tables are shared.
    identifier = copy(_load_identifier())
    identifier.set_languages(known & {own, *map(get_base_language, languages), *_CANDIDATES})
    return LanguageCheck(own, identifier)


@cache
def _load_identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
