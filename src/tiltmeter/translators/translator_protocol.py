"""The protocol `Translator`, its extensions, and helper functions for translation systems."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from tiltmeter.errors import UsageError

SOURCE = "en"


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a service per million characters, and the price list that states the price."""

    per_million: float
    currency: str
    price_list: str


class Translator(Protocol):
    """A system that translates sentences; the source language is English, unless `with_source_language` changed it."""

    @property
    def name(self) -> str:
        """The name of the system in results."""

    @property
    def key(self) -> str:
        """The key of stored translations of this system.

        The key identifies everything that a translation depends on, except the sentence and the target language.
        """

    @property
    def price(self) -> Price | None:
        """The price per million characters; None if the system is free."""

    @property
    def batch_size(self) -> int:
        """The maximum number of sentences per request."""

    def check(self, language: str) -> None:
        """Raise a UsageError if the target language is known to be unsupported."""

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """Return the translations in the order of the texts; raise a ModelError if a translation fails.

        If a service returns None or an empty text, return that value unchanged; `translate_texts` omits such sentences.
        """


@runtime_checkable
class ProtectingTranslator(Translator, Protocol):
    """A translation system with a built-in way to leave a word untranslated."""

    def with_protected_word(self, word: str, language: str) -> Translator:
        """Return a copy of the system that leaves this word untranslated in translations into `language`."""


@runtime_checkable
class SourceTranslator(Translator, Protocol):
    """A translation system that can translate from languages other than English."""

    def with_source_language(self, language: str) -> Translator:
        """Return a copy of the system with this source language; raise a UsageError if the language is unsupported."""


@runtime_checkable
class MarkingTranslator(Translator, Protocol):
    """A translation system that knows which words it could not translate."""

    def list_unknown_words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return, for each source text, the words that the system leaves untranslated because it does not know them."""


@runtime_checkable
class ListingTranslator(Translator, Protocol):
    """A translation system that can list its languages without translating a text."""

    def list_target_languages(self) -> list[str]:
        """Return the codes of the languages into which the system translates; raise a ModelError if a request fails."""


class ServiceTranslator:
    """Base class of translators that send requests to a server; the server rejects unsupported languages."""

    key: str
    source = SOURCE

    def check(self, language: str) -> None:
        """Accept every language, because only the service knows which languages it supports."""

    def with_source_language(self, language: str) -> Self:
        """Return a copy with another source language. The copy has another cache key, which contains the language."""
        other = copy(self)
        other.source = language
        other.key = f"{self.key} from {language}"
        return other


def with_source_language(translator: Translator, language: str) -> Translator:
    """Return the translator with this source language; raise a UsageError if the translator supports only English."""
    if language == SOURCE:
        return translator
    if not isinstance(translator, SourceTranslator):
        raise UsageError(
            f"{translator.name} translates only from English, not from {language!r}; choose another system."
        )
    return translator.with_source_language(language)


@runtime_checkable
class PartialTranslator(Translator, Protocol):
    """A translation system that can translate only some texts, such as a file of translations."""

    def list_untranslatable(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that the system cannot translate."""


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    """A term of the source language with its fixed translation; `note` is a hint for the translator."""

    term: str
    translation: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class RequestedText:
    """A text of an item to translate. `key` is its name in the request, and `meaning` explains its role in the item."""

    key: str
    text: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class ItemRequest:
    """All texts of an item, which are translated together, and the fixed translations of terms in these texts.

    `term_key` is the key of the term that the item is about, and `context_key` the key of the text in which the term
    must occur; they are empty if the item has no such texts.
    """

    texts: tuple[RequestedText, ...]
    glossary: tuple[GlossaryTerm, ...] = ()
    term_key: str = ""
    context_key: str = ""


@dataclass(frozen=True, slots=True)
class ItemTranslation:
    """The translations of an item's texts by key; if the item could not be translated, `failure` is the reason."""

    texts: dict[str, str]
    failure: str = ""


@runtime_checkable
class ItemTranslator(Translator, Protocol):
    """A translation system that translates all texts of an item together, and keeps BLANK in them."""

    def translate_items(self, requests: Sequence[ItemRequest], language: str) -> Iterator[tuple[int, ItemTranslation]]:
        """Yield the index of each item with its translation as translations arrive; each is stored by the system.

        A failure of one item does not stop the others. A ModelError is raised if the system does not answer at all.
        """

    def list_new_items(self, requests: Sequence[ItemRequest], language: str) -> list[int]:
        """Return the indexes of the items whose translations are not stored."""
