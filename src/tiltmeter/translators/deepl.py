"""DeepL, through its Python package.

The environment variable DEEPL_AUTH_KEY contains the API key. DEEPL_SERVER_URL may contain another server's address.
"""

import os
from collections.abc import Sequence
from typing import Any, Self

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.http_client.retries import TransientError, call_with_retries, is_transient, parse_retry_after
from tiltmeter.registry import import_extra
from tiltmeter.translators.translator_protocol import SOURCE, Price, ServiceTranslator

SERVICE = "DeepL"


class DeepLTranslator(ServiceTranslator):
    """DeepL with its default model for each language, without glossary or formality setting."""

    name = "deepl"
    key = "deepl"
    price = Price(25.0, "USD", "DeepL price list for API Pro, 2024")
    batch_size = 50

    def __init__(self) -> None:
        self._deepl = import_extra("deepl", "deepl", SERVICE)
        secret = os.environ.get("DEEPL_AUTH_KEY")
        if not secret:
            raise UsageError(f"{SERVICE} needs a key: set DEEPL_AUTH_KEY to an API key of your DeepL account.")
        # Disable the package's retries, which ignore Retry-After; `call_with_retries` is used instead.
        self._deepl.http_client.max_network_retries = 0
        client = getattr(self._deepl, "DeepLClient", self._deepl.Translator)
        self._client: Any = client(secret, server_url=os.environ.get("DEEPL_SERVER_URL") or None)
        self._retry_after: str | None = None
        self._record_retry_after()

    def list_target_languages(self) -> list[str]:
        """Return the languages that the installed package of DeepL knows; no request is sent."""
        constants = {name: value for name, value in vars(self._deepl.Language).items() if name.isupper()}
        return sorted({str(value) for value in constants.values()})

    def with_source_language(self, language: str) -> Self:
        """Return a copy of this translator with another source language."""
        other = super().with_source_language(language)
        other._record_retry_after()
        return other

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """Return the translations; one request is sent for all texts."""
        return call_with_retries(lambda: self._send_texts(list(texts), language), SERVICE)

    def _send_texts(self, texts: list[str], language: str) -> list[str]:
        self._retry_after = None
        try:
            target = "EN-US" if language == SOURCE else language.upper()  # DeepL requires a variety of English
            results = self._client.translate_text(texts, source_lang=self.source.upper(), target_lang=target)
        except self._deepl.AuthorizationException as error:
            raise UsageError(f"{SERVICE} rejected the key in DEEPL_AUTH_KEY; set it to a valid key.") from error
        except self._deepl.DeepLException as error:
            reason = str(error).rstrip(".")
            if error.should_retry or is_transient(error.http_status_code or 0):
                raise TransientError(reason, parse_retry_after(self._retry_after)) from error
            raise ModelError(f"{SERVICE} cannot translate into {language!r}: {reason}.") from error
        except (LookupError, TypeError, ValueError) as error:  # raised by the package if the reply is invalid
            raise ModelError(
                f"The reply of {SERVICE} is not in the expected format ({error}); the reply was ignored."
            ) from error
        return [result.text for result in results]

    def _record_retry_after(self) -> None:
        """Record the Retry-After header of each response, because the package's errors do not contain the header."""
        session = getattr(getattr(self._client, "_client", None), "_session", None)
        if session is None:
            return  # a version of the package without these attributes; its Retry-After headers are ignored
        send = session.send

        def recording_send(*args: Any, **options: Any) -> Any:
            response = send(*args, **options)
            self._retry_after = response.headers.get("Retry-After")
            return response

        session.send = recording_send
