"""Which language a sentence is in, to find English in articles of other languages."""

from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

from tiltmeter.training.sentences import get_base_language

# A sentence counts as another language, or as English, if that is so much more likely than its article's language.
# On software help in German, French, Spanish and Turkish this finds 84 to 99% of the English sentences (where only
# strings of commands are English: 55%), and takes less than 0.1% of the others for English.
CONFIDENCE = 0.9
# The languages that a sentence is compared with, besides those of the articles. More languages, small ones above all,
# make short sentences look like a language next door: Spanish like Aragonese.
_OFTEN_MIXED_IN = ("ar", "de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "tr", "zh")


@dataclass(frozen=True)
class LanguageCheck:
    """Compares the language of sentences with that of their article."""

    language: str
    identifier: Any

    def other_language(self, text: str) -> str | None:
        """English or another language, if the sentence is rather in that one; otherwise None."""
        likelihood = dict(self.identifier.rank(text))
        own = likelihood.pop(self.language)
        if self.language != "en" and likelihood["en"] >= CONFIDENCE * (likelihood["en"] + own):
            return "en"
        other = max(likelihood, key=lambda language: likelihood[language])
        return other if likelihood[other] >= CONFIDENCE * (likelihood[other] + own) else None


@cache
def create_language_check(language: str, languages: frozenset[str]) -> LanguageCheck | None:
    """The check of articles in a language; None if the identifier does not know the language.

    >>> create_language_check("de", frozenset({"de", "en"})).other_language("This sentence has not been translated.")
    'en'
    """
    own = get_base_language(language)
    known = set(_load_identifier().labels)
    if own not in known:
        return None
    # A copy has its own languages; the large tables are shared.
    identifier = copy(_load_identifier())
    identifier.set_languages(known & {own, *map(get_base_language, languages), *_OFTEN_MIXED_IN})
    return LanguageCheck(own, identifier)


@cache
def _load_identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
