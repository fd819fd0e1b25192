"""DeepL through its own package; the key is read from DEEPL_AUTH_KEY, another server from DEEPL_SERVER_URL."""

import os
from collections.abc import Sequence
from copy import copy
from typing import Any

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.translators.retries import TransientError, call_with_retries, is_transient, parse_retry_after
from tiltmeter.translators.translator_protocol import SOURCE, Price, import_extra

SERVICE = "DeepL"


class DeepLTranslator:
    """DeepL's default model for a language, without glossary or formality."""

    name = "deepl"
    key = "deepl"
    source = SOURCE
    price = Price(25.0, "USD", "DeepL price list for API Pro, 2024")
    batch_size = 50

    def __init__(self) -> None:
        self._deepl = import_extra("deepl", "deepl", SERVICE)
        secret = os.environ.get("DEEPL_AUTH_KEY")
        if not secret:
            raise UsageError(
                f"{SERVICE} needs a key: set DEEPL_AUTH_KEY to the one on your account's page of API keys."
            )
        # The package's own retries ignore Retry-After; `call_with_retries` is used instead.
        self._deepl.http_client.max_network_retries = 0
        client = getattr(self._deepl, "DeepLClient", self._deepl.Translator)
        self._client: Any = client(secret, server_url=os.environ.get("DEEPL_SERVER_URL") or None)
        self._retry_after: str | None = None
        self._record_retry_after()

    def check(self, language: str) -> None:
        """No check: the service refuses unsupported languages, and its list changes often."""

    def with_source_language(self, language: str) -> "DeepLTranslator":
        """The same service with another source language."""
        other = copy(self)
        other.source = language
        other.key = f"{self.key} from {language}"
        other._record_retry_after()
        return other

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """The translations, in one request."""
        return call_with_retries(lambda: self._send(list(texts), language), SERVICE)

    def _send(self, texts: list[str], language: str) -> list[str]:
        self._retry_after = None
        try:
            target = "EN-US" if language == SOURCE else language.upper()  # DeepL wants a variety of English
            results = self._client.translate_text(texts, source_lang=self.source.upper(), target_lang=target)
        except self._deepl.AuthorizationException as error:
            raise UsageError(f"{SERVICE} does not accept the key in DEEPL_AUTH_KEY; set it to a valid one.") from error
        except self._deepl.DeepLException as error:
            reason = str(error).rstrip(".")
            if error.should_retry or is_transient(error.http_status_code or 0):
                raise TransientError(reason, parse_retry_after(self._retry_after)) from error
            raise ModelError(f"{SERVICE} does not translate into {language!r}: {reason}.") from error
        except (LookupError, TypeError, ValueError) as error:  # of the package, which does not check the reply
            raise ModelError(
                f"The reply of {SERVICE} lacks what its protocol has ({error}); nothing of it is used."
            ) from error
        return [result.text for result in results]

    def _record_retry_after(self) -> None:
        """Record the Retry-After header of each response, which the package's errors do not have."""
        session = getattr(getattr(self._client, "_client", None), "_session", None)
        if session is None:
            return  # another version of the package: Retry-After is ignored
        send = session.send

        def recording_send(*args: Any, **options: Any) -> Any:
            response = send(*args, **options)
            self._retry_after = response.headers.get("Retry-After")
            return response

        session.send = recording_send
