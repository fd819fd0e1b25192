"""JSON over HTTP, for self-hosted servers."""

import os
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import httpx2

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.client import TOO_SLOW, is_too_slow
from tiltmeter.redaction import redact_address
from tiltmeter.translators.retries import TransientError, call_with_retries, is_transient, parse_retry_after

TIMEOUT = 120.0
_LONGEST_MESSAGE = 200
_LARGEST_REPLY = 1 << 26


LOGIN = "TILTMETER_TRANSLATOR_LOGIN"
"""The environment variable with the user name and password of a server, NAME:PASSWORD, if its address has none."""


def normalise_url(url: str) -> str:
    """The URL without a trailing slash, with the user name and password of `LOGIN`; a UsageError if it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"{url!r} is not an http(s) address, such as http://localhost:5000.")
    user, colon, password = os.environ.get(LOGIN, "").partition(":")
    if colon and "@" not in parts.netloc:
        url = urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))
    return url.rstrip("/")


def has_password(url: str) -> bool:
    """Whether an address holds a user name or a password."""
    return "://" in url and "@" in urlsplit(url).netloc


def post_json(url: str, content: Mapping[str, Any], service: str) -> Any:
    """POST a JSON object and return the JSON response."""
    return _post(url, service, json=dict(content))


def post_form(url: str, fields: Mapping[str, str], service: str) -> Any:
    """POST form fields and return the JSON response."""
    return _post(url, service, data=dict(fields))


def _post(url: str, service: str, **body: Any) -> Any:
    """The JSON response to a POST; `body` is httpx's `json` or `data`."""
    address = redact_address(url)

    def send() -> httpx2.Response:
        try:
            response = _receive_response(url, f"{service} at {address}", **body)
        except httpx2.DecodingError as error:
            raise ModelError(f"{service} at {address} sends what cannot be decoded ({error}).") from error
        except (httpx2.TransportError, OSError) as error:
            raise TransientError(str(error) or type(error).__name__) from error
        if response.is_success:
            return response
        reason = f"it answers {response.status_code} {_read_error_message(response) or response.reason_phrase}".rstrip(
            ". "
        )
        if is_transient(response.status_code):
            raise TransientError(reason, parse_retry_after(response.headers.get("Retry-After")))
        raise ModelError(f"{service} at {address} does not translate: {reason}.")

    response = call_with_retries(send, f"{service} at {address}")
    try:
        return response.json()
    except (ValueError, RecursionError, LookupError) as error:
        raise ModelError(f"{service} at {address} does not answer with JSON; check the address.") from error


def _receive_response(url: str, service: str, **body: Any) -> httpx2.Response:
    """The response with its content: of a bounded size, within a bounded time."""
    ends = time.monotonic() + TIMEOUT
    # Redirects are not followed: they would carry the API key elsewhere.
    with httpx2.stream("POST", url, headers={"User-Agent": "tiltmeter"}, timeout=TIMEOUT, **body) as response:
        content, began = bytearray(), time.monotonic()
        for block in response.iter_bytes():
            content += block
            if len(content) > _LARGEST_REPLY:
                raise ModelError(f"{service} sends more than {_LARGEST_REPLY:,} bytes as a reply; check the address.")
            if is_too_slow(content, time.monotonic() - began):
                raise ModelError(f"{service} {TOO_SLOW}; try again later.")
            # The timeout of httpx is between two bytes; a server that sends one now and then would never end.
            if time.monotonic() > ends:
                raise ModelError(f"{service} did not finish its reply within {TIMEOUT:g} seconds; try again later.")
        dropped = ("content-encoding", "content-length")
        headers = {name: value for name, value in response.headers.items() if name not in dropped}
        return httpx2.Response(response.status_code, headers=headers, content=bytes(content), request=response.request)


def _read_error_message(response: httpx2.Response) -> str:
    """The error message in a JSON response, under the keys that these servers use; empty if there is none."""
    try:
        content = response.json()
    except (ValueError, RecursionError, LookupError):
        return ""
    if not isinstance(content, dict):
        return ""
    return str(content.get("error") or content.get("explanation") or content.get("message") or "")[:_LONGEST_MESSAGE]
