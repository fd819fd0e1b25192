"""Self-hosted servers: LibreTranslate and Apertium APY."""

import os
from collections.abc import Sequence
from copy import copy
from typing import Any, TypeVar

from tiltmeter.errors import ModelError
from tiltmeter.redaction import redact_address
from tiltmeter.translators.http import normalise_url, post_form, post_json
from tiltmeter.translators.translator_protocol import SOURCE, THREE_LETTERS

Server = TypeVar("Server", "LibreTranslator", "ApyTranslator")


class LibreTranslator:
    """A LibreTranslate server; an API key is read from LIBRETRANSLATE_API_KEY."""

    price = None
    batch_size = 20

    def __init__(self, url: str) -> None:
        self._url = normalise_url(url)
        self.name = self.key = f"libretranslate:{redact_address(self._url)}"
        self.source = SOURCE

    def check(self, language: str) -> None:
        """No check: the server refuses unsupported languages."""

    def with_source_language(self, language: str) -> "LibreTranslator":
        """The same server with another source language."""
        return _with_source(self, language)

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """The translations, in one request."""
        content: dict[str, Any] = {"q": list(texts), "source": self.source, "target": language, "format": "text"}
        if secret := os.environ.get("LIBRETRANSLATE_API_KEY"):
            content["api_key"] = secret
        answer = post_json(f"{self._url}/translate", content, "LibreTranslate")
        translations = answer.get("translatedText") if isinstance(answer, dict) else None
        if not isinstance(translations, list):
            raise ModelError(f"{self.name} gave no list of translations; check that it is a LibreTranslate server.")
        return translations


class ApyTranslator:
    """An Apertium APY server; unknown words stay untranslated."""

    price = None
    batch_size = 1

    def __init__(self, url: str) -> None:
        self._url = normalise_url(url)
        self.name = self.key = f"apy:{redact_address(self._url)}"
        self.source = SOURCE

    def check(self, language: str) -> None:
        """No check: the server refuses unsupported directions."""

    def with_source_language(self, language: str) -> "ApyTranslator":
        """The same server with another source language."""
        return _with_source(self, language)

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """The translations, with one request for each text."""
        return [self._send(text, language) for text in texts]

    def _send(self, text: str, language: str) -> str:
        pair = f"{THREE_LETTERS.get(self.source, self.source)}|{THREE_LETTERS.get(language, language)}"
        answer = post_form(f"{self._url}/translate", {"langpair": pair, "q": text, "markUnknown": "no"}, "Apertium APY")
        try:
            translation: str = answer["responseData"]["translatedText"]
        except (KeyError, TypeError) as error:
            raise ModelError(f"{self.name} gave no translation; check that it is an Apertium APY server.") from error
        return translation


def _with_source(server: Server, language: str) -> Server:
    other = copy(server)
    other.source = language
    other.key = f"{server.key} from {language}"
    return other
