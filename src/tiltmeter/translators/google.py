"""Google Cloud Translation (Basic), through its Python package with Google's "application default credentials"."""

from collections.abc import Sequence
from typing import Any

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.http_client.retries import TransientError, call_with_retries, is_transient, parse_retry_after
from tiltmeter.registry import import_extra
from tiltmeter.translators.translator_protocol import Price, ServiceTranslator

SERVICE = "Google Translate"


class GoogleTranslator(ServiceTranslator):
    """Google's neural translation model; `endpoint` and `credentials` override the defaults of Google's package."""

    name = "google"
    key = "google nmt"
    price = Price(20.0, "USD", "Google Cloud price list for Translation Basic, 2024")
    batch_size = 50

    def __init__(self, endpoint: str | None = None, credentials: Any = None) -> None:
        translate = import_extra("google.cloud.translate_v2", "google", SERVICE)
        self._errors = import_extra("google.api_core.exceptions", "google", SERVICE)
        self._auth = import_extra("google.auth.exceptions", "google", SERVICE)
        self._requests = import_extra("requests.exceptions", "google", SERVICE)
        options = {"api_endpoint": endpoint} if endpoint else None
        try:
            self._client: Any = translate.Client(credentials=credentials, client_options=options)
        except self._auth.DefaultCredentialsError as error:
            raise UsageError(
                f"{SERVICE} needs credentials: set GOOGLE_APPLICATION_CREDENTIALS to a service account file, or "
                "run `gcloud auth application-default login`."
            ) from error

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """Return the translations; one request is sent for all texts."""
        return call_with_retries(lambda: self._send_texts(list(texts), language), SERVICE)

    def _send_texts(self, texts: list[str], language: str) -> list[str]:
        try:
            # Request plain text. The default format is HTML, in which an apostrophe is returned as &#39;.
            results = self._client.translate(
                texts, target_language=language, source_language=self.source, format_="text", model="nmt"
            )
        except self._errors.GoogleAPICallError as error:
            # Errors about a rate limit per user have the HTTP status 403 instead of 429.
            if is_transient(int(error.code or 0)) or _is_rate_limit(error):
                headers = getattr(error.response, "headers", {})
                raise TransientError(_get_reason(error), parse_retry_after(headers.get("Retry-After"))) from error
            raise ModelError(f"{SERVICE} cannot translate into {language!r}: {_get_reason(error)}.") from error
        except (self._requests.RequestException, self._auth.TransportError) as error:
            raise TransientError(_get_reason(error)) from error
        except self._auth.GoogleAuthError as error:
            raise UsageError(
                f"{SERVICE} rejected your credentials ({_get_reason(error)}); renew them with `gcloud auth "
                "application-default login`."
            ) from error
        return [result["translatedText"] for result in results]


def _is_rate_limit(error: Any) -> bool:
    return any("ratelimitexceeded" in str(entry.get("reason", "")).lower() for entry in error.errors)


def _get_reason(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
