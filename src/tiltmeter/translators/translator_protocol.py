"""The protocol `Translator`, its extensions, and helper functions for implementations."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, Self, runtime_checkable

from tiltmeter.errors import UsageError

SOURCE = "en"

# ISO 639-3 codes, for systems that need them; the codes of other languages are passed on unchanged.
THREE_LETTERS = {
    "ar": "ara",
    "be": "bel",
    "cs": "ces",
    "de": "deu",
    "en": "eng",
    "es": "spa",
    "fi": "fin",
    "fr": "fra",
    "he": "heb",
    "hi": "hin",
    "hr": "hrv",
    "hu": "hun",
    "it": "ita",
    "nl": "nld",
    "pl": "pol",
    "pt": "por",
    "ru": "rus",
    "sk": "slk",
    "sl": "slv",
    "sr": "srp",
    "tr": "tur",
    "uk": "ukr",
}


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a service per million characters, and its source."""

    per_million: float
    currency: str
    price_list: str


class Translator(Protocol):
    """A system that translates sentences, from English unless it is a `SourceTranslator` with another language."""

    @property
    def name(self) -> str:
        """The name in results."""

    @property
    def key(self) -> str:
        """The key of stored translations: everything except sentence and language that a translation depends on."""

    @property
    def price(self) -> Price | None:
        """The price; None if the system is free."""

    @property
    def batch_size(self) -> int:
        """The maximum number of sentences per request."""

    def check(self, language: str) -> None:
        """Raise a UsageError for an unsupported target language, if this is known without a request."""

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """Return the translations of all texts in order; raise a ModelError if one fails.

        Null or empty translations of a service are returned unchanged; `translate_all` leaves these sentences out.
        """


@runtime_checkable
class ProtectingTranslator(Translator, Protocol):
    """A system with a built-in way to leave a word untranslated."""

    def with_protected_word(self, word: str, language: str) -> Translator:
        """Return the same system, configured to leave this word untranslated."""


@runtime_checkable
class SourceTranslator(Translator, Protocol):
    """A system that can translate from languages other than English."""

    def with_source_language(self, language: str) -> Translator:
        """Return the same system with this source language; raise a UsageError if it is unsupported."""


class ServiceTranslator:
    """Base class of services and servers, which reject unsupported languages themselves."""

    key: str
    source = SOURCE

    def check(self, language: str) -> None:
        """Accept every language, because the list of supported ones is known to the service only."""

    def with_source_language(self, language: str) -> Self:
        """Return the same service with another source language, which is part of its key."""
        other = copy(self)
        other.source = language
        other.key = f"{self.key} from {language}"
        return other


def with_source_language(translator: Translator, language: str) -> Translator:
    """Return the translator with this source language; raise a UsageError if it supports only English."""
    if language == SOURCE:
        return translator
    if not isinstance(translator, SourceTranslator):
        raise UsageError(
            f"{translator.name} translates only from English, not from {language!r}; choose another system."
        )
    return translator.with_source_language(language)


@runtime_checkable
class PartialTranslator(Translator, Protocol):
    """A system that can translate only some texts."""

    def list_untranslatable(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that it cannot translate."""


def import_extra(module: str, name: str, service: str) -> Any:
    """Import a module of an optional package; if it is missing, raise a UsageError that names the extra `name`."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{service} needs a package that is not installed; run `pip install 'tiltmeter[{name}]'`."
        ) from error
