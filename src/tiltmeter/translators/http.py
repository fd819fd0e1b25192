"""JSON over HTTP, for self-hosted servers."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.translators.retries import TransientError, is_transient, parse_retry_after, with_retries

TIMEOUT = 120.0
_LONGEST_MESSAGE = 200


def base_url(url: str) -> str:
    """The URL without a trailing slash; a UsageError if it is not an http(s) URL."""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise UsageError(f"{url!r} is not an http(s) address, such as http://localhost:5000.")
    return url.rstrip("/")


def without_secret(url: str) -> str:
    """The URL without user name and password.

    >>> without_secret("https://ada:secret@example.org/apy")
    'https://example.org/apy'
    """
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def post_json(url: str, content: Mapping[str, Any], service: str) -> Any:
    """POST a JSON object and return the JSON response."""
    return _post(url, json.dumps(content).encode(), "application/json", service)


def post_form(url: str, fields: Mapping[str, str], service: str) -> Any:
    """POST form fields and return the JSON response."""
    return _post(url, urlencode(fields).encode(), "application/x-www-form-urlencoded", service)


def _post(url: str, body: bytes, content_type: str, service: str) -> Any:
    request = urllib.request.Request(url, body, {"Content-Type": content_type, "User-Agent": "tiltmeter"})

    def send() -> bytes:
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
                content: bytes = response.read()
                return content
        except urllib.error.HTTPError as error:
            with error:
                reason = f"it answers {error.code} {_message(error.read()) or error.reason}".rstrip(".")
            if is_transient(error.code):
                raise TransientError(reason, parse_retry_after(error.headers.get("Retry-After"))) from error
            raise ModelError(f"{service} at {without_secret(url)} does not translate: {reason}.") from error
        except (urllib.error.URLError, OSError, HTTPException) as error:
            raise TransientError(str(getattr(error, "reason", None) or error or type(error).__name__)) from error

    answer = with_retries(send, f"{service} at {without_secret(url)}")
    try:
        return json.loads(answer)
    except ValueError as error:
        raise ModelError(f"{service} at {without_secret(url)} does not answer with JSON; check the address.") from error


def _message(body: bytes) -> str:
    """The error message in a JSON response, under the keys that these servers use; empty if there is none."""
    try:
        content = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(content, dict):
        return ""
    return str(content.get("error") or content.get("explanation") or content.get("message") or "")[:_LONGEST_MESSAGE]
