"""The protocol `Translator`, and helpers for its implementations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from tiltmeter.errors import UsageError

SOURCE = "en"

# ISO 639-3 codes, for systems that need them; other languages are passed unchanged.
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
    """The price of a service per million characters, and the price list it is from."""

    per_million: float
    currency: str
    price_list: str


class Translator(Protocol):
    """A system that translates sentences: English ones, unless it is a `SourceTranslator` and told otherwise."""

    @property
    def name(self) -> str:
        """The name in results."""

    @property
    def key(self) -> str:
        """Identifies everything besides sentence and language that a translation depends on; key of the store."""

    @property
    def price(self) -> Price | None:
        """The price; None if the system is free."""

    @property
    def batch_size(self) -> int:
        """The maximum number of sentences per request."""

    def check(self, language: str) -> None:
        """Raise a UsageError for an unsupported target language, if that is known without a request."""

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """The translations of all texts in their order; a ModelError if any fails.

        A null or an empty text of a service is passed on: `translate_all` leaves the sentence untranslated.
        """


@runtime_checkable
class ProtectingTranslator(Translator, Protocol):
    """A system with a means of its own to leave a word untranslated."""

    def with_protected_word(self, word: str, language: str) -> Translator:
        """The same system, which leaves this word untranslated."""


@runtime_checkable
class SourceTranslator(Translator, Protocol):
    """A system that can translate from other languages than English."""

    def with_source_language(self, language: str) -> Translator:
        """The same system, which translates from this language; a UsageError if it is known that it cannot."""


def with_source_language(translator: Translator, language: str) -> Translator:
    """The system translating from this language; a UsageError if it translates from English only."""
    if language == SOURCE:
        return translator
    if not isinstance(translator, SourceTranslator):
        raise UsageError(f"{translator.name} translates from English only, not from {language!r}.")
    return translator.with_source_language(language)


@runtime_checkable
class PartialTranslator(Translator, Protocol):
    """A system that has translations of some texts only."""

    def list_untranslatable(self, texts: Iterable[str]) -> list[str]:
        """The texts that it cannot translate."""


def import_extra(module: str, name: str, service: str) -> Any:
    """Import a module of an optional dependency; a UsageError names the extra `name` if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{service} needs a package that is not installed; get it with `pip install 'tiltmeter[{name}]'`."
        ) from error
