"""Self-hosted translation servers: LibreTranslate and Apertium APY."""

import os
from collections.abc import Sequence
from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.http_client.client import Client, Request
from tiltmeter.http_client.limits import ReplyLimits
from tiltmeter.language_codes import get_three_letters, is_same_language
from tiltmeter.redaction import redact_address
from tiltmeter.translators.server_login import normalise_url
from tiltmeter.translators.translator_protocol import ServiceTranslator

TIMEOUT = 120.0
_LIST_TIMEOUT = 10.0
LIMITS = ReplyLimits(size=1 << 26, speed=100, window=6.0)


class LibreTranslator(ServiceTranslator):
    """A LibreTranslate server; the optional API key is read from LIBRETRANSLATE_API_KEY."""

    price = None
    batch_size = 20

    def __init__(self, url: str) -> None:
        self._url = normalise_url(url)
        self.name = self.key = f"libretranslate:{redact_address(self._url)}"

    def list_target_languages(self) -> list[str]:
        """Return the languages that the server lists as targets of the source language."""
        answer = _ask_once(self._url, "LibreTranslate", "/languages")
        try:
            if not isinstance(answer, list):
                raise TypeError
            return sorted({target for entry in answer if entry["code"] == self.source for target in entry["targets"]})
        except (KeyError, TypeError) as error:
            raise ModelError(f"{self.name} returned no list of languages.") from error

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """Return the translations; one request is sent for all texts."""
        content: dict[str, Any] = {"q": list(texts), "source": self.source, "target": language, "format": "text"}
        secret = os.environ.get("LIBRETRANSLATE_API_KEY", "")
        if secret:
            content["api_key"] = secret
        answer = _open_client(self._url, "LibreTranslate", (secret,)).send_request(Request("/translate", content))
        translations = answer.get("translatedText") if isinstance(answer, dict) else None
        if not isinstance(translations, list):
            raise ModelError(
                f"{self.name} returned no list of translations; check that this address is a LibreTranslate server."
            )
        return translations


class ApyTranslator(ServiceTranslator):
    """An Apertium APY server; words that are not in the server's dictionary stay untranslated."""

    price = None
    batch_size = 1

    def __init__(self, url: str) -> None:
        self._url = normalise_url(url)
        self.name = self.key = f"apy:{redact_address(self._url)}"

    def list_target_languages(self) -> list[str]:
        """Return the languages that the server lists as targets of the source language."""
        answer = _ask_once(self._url, "Apertium APY", "/listPairs")
        try:
            pairs = [(pair["sourceLanguage"], pair["targetLanguage"]) for pair in answer["responseData"]]
        except (KeyError, TypeError) as error:
            raise ModelError(f"{self.name} returned no list of languages.") from error
        return sorted({target for source, target in pairs if is_same_language(source, self.source)})

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """Return the translations; one request is sent per text."""
        return [self._send_text(text, language) for text in texts]

    def _send_text(self, text: str, language: str) -> str:
        pair = f"{get_three_letters(self.source)}|{get_three_letters(language)}"
        fields = {"langpair": pair, "q": text, "markUnknown": "no"}
        answer = _open_client(self._url, "Apertium APY").send_request(Request("/translate", form=fields))
        try:
            translation: str = answer["responseData"]["translatedText"]
        except (KeyError, TypeError) as error:
            raise ModelError(
                f"{self.name} returned no translation; check that this address is an Apertium APY server."
            ) from error
        return translation


def _ask_once(url: str, service: str, path: str) -> Any:
    """Return the reply to a GET request without retries, because a missing list of languages stops nobody."""
    client = _open_client(url, service)
    client.pauses, client.timeout = (), _LIST_TIMEOUT
    return client.send_request(Request(path))


def _open_client(url: str, service: str, secrets: tuple[str, ...] = ()) -> Client:
    return Client(url, service=service, secrets=secrets, concurrency=1, timeout=TIMEOUT, limits=LIMITS)
