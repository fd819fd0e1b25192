"""Detection of English sentences in articles of other languages."""

from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

from tiltmeter.language_codes import get_base_code

# A sentence counts as written in another language than its article if the probability of that language is at least this
# number. With this value, 84 to 99% of the English sentences in French, Spanish and Turkish software help are detected,
# and 55% in German, where most of them are strings of commands. At most 0.1% of the other sentences are wrongly
# classified as English (docs/evidence/next-sentence.md).
CONFIDENCE = 0.9
# The languages that the check considers in addition to the languages of the articles. With more languages, short
# sentences would be assigned to small related languages, for example Spanish sentences to Aragonese.
_CANDIDATES = ("ar", "de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "tr", "zh")


@dataclass(frozen=True)
class LanguageCheck:
    """A check of sentences against the language of their article."""

    language: str
    identifier: Any

    def other_language(self, text: str) -> str | None:
        """Return the language of the sentence if it is probably not the language of its article; otherwise None."""
        likelihood = dict(self.identifier.rank(text))
        own = likelihood.pop(self.language)
        if self.language != "en" and likelihood["en"] >= CONFIDENCE * (likelihood["en"] + own):
            return "en"
        other = max(likelihood, key=lambda language: likelihood[language])
        return other if likelihood[other] >= CONFIDENCE * (likelihood[other] + own) else None


@cache
def create_language_check(language: str, languages: frozenset[str]) -> LanguageCheck | None:
    """Return the check for articles in a language; None if the check does not support the language.

    >>> create_language_check("de", frozenset({"de", "en"})).other_language("This sentence has not been translated.")
    'en'
    """
    own = get_base_code(language)
    known = set(_load_identifier().labels)
    if own not in known:
        return None
    # Each check has its own copy of the identifier, because it sets other languages. The copies share the large tables.
    identifier = copy(_load_identifier())
    identifier.set_languages(known & {own, *map(get_base_code, languages), *_CANDIDATES})
    return LanguageCheck(own, identifier)


@cache
def _load_identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
