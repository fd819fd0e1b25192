"""What every translation system gives, and what its file may use to say why it cannot."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from tiltmeter.errors import UsageError

SOURCE = "en"

# ISO 639-3, where a system wants it; other languages are passed on as they are.
THREE_LETTERS = {
    "be": "bel",
    "cs": "ces",
    "en": "eng",
    "es": "spa",
    "hr": "hrv",
    "pl": "pol",
    "ru": "rus",
    "sk": "slk",
    "sl": "slv",
    "sr": "srp",
    "uk": "ukr",
}


@dataclass(frozen=True, slots=True)
class Price:
    """What a service asks for a million characters, and whose price list says so."""

    per_million: float
    currency: str
    price_list: str


class Translator(Protocol):
    """A system that translates English sentences."""

    @property
    def name(self) -> str:
        """What results call it."""

    @property
    def key(self) -> str:
        """Names everything that a translation depends on besides the sentence and the language."""

    @property
    def price(self) -> Price | None:
        """What it costs; None where nothing is paid."""

    @property
    def batch_size(self) -> int:
        """How many sentences one request takes."""

    def check(self, language: str) -> None:
        """Refuse a language that this system cannot translate into, as far as that can be told for nothing."""

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """The translations, in the order of the texts: all of them, or a ModelError."""


def import_extra(module: str, name: str, service: str) -> Any:
    """A module that comes with an extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{service} needs a package that is not installed; get it with `pip install 'tiltmeter[{name}]'`."
        ) from error
