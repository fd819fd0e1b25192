"""JSON over HTTP, for self-hosted servers."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

from tiltmeter.addresses import public_address
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.translators.retries import TransientError, is_transient, parse_retry_after, with_retries

TIMEOUT = 120.0
_LONGEST_MESSAGE = 200


def base_url(url: str) -> str:
    """The URL without a trailing slash; a UsageError if it is not an http(s) URL."""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise UsageError(f"{url!r} is not an http(s) address, such as http://localhost:5000.")
    return url.rstrip("/")


def post_json(url: str, content: Mapping[str, Any], service: str) -> Any:
    """POST a JSON object and return the JSON response."""
    return _post(url, service, json=dict(content))


def post_form(url: str, fields: Mapping[str, str], service: str) -> Any:
    """POST form fields and return the JSON response."""
    return _post(url, service, data=dict(fields))


def _post(url: str, service: str, **body: Any) -> Any:
    """The JSON response to a POST; `body` is httpx's `json` or `data`."""
    address = public_address(url)

    def send() -> httpx2.Response:
        try:
            # Redirects are not followed: they would carry the API key elsewhere.
            response = httpx2.post(url, headers={"User-Agent": "tiltmeter"}, timeout=TIMEOUT, **body)
        except (httpx2.TransportError, OSError) as error:
            raise TransientError(str(error) or type(error).__name__) from error
        if response.is_success:
            return response
        reason = f"it answers {response.status_code} {_message(response) or response.reason_phrase}".rstrip(". ")
        if is_transient(response.status_code):
            raise TransientError(reason, parse_retry_after(response.headers.get("Retry-After")))
        raise ModelError(f"{service} at {address} does not translate: {reason}.")

    response = with_retries(send, f"{service} at {address}")
    try:
        return response.json()
    except ValueError as error:
        raise ModelError(f"{service} at {address} does not answer with JSON; check the address.") from error


def _message(response: httpx2.Response) -> str:
    """The error message in a JSON response, under the keys that these servers use; empty if there is none."""
    try:
        content = response.json()
    except ValueError:
        return ""
    if not isinstance(content, dict):
        return ""
    return str(content.get("error") or content.get("explanation") or content.get("message") or "")[:_LONGEST_MESSAGE]
