"""Streamed responses for downloads: the body is read in blocks, and each redirect is checked before it is followed."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx2

from tiltmeter.http_client.retries import TransientError, is_transient, parse_retry_after
from tiltmeter.http_client.tls_context import get_tls_context

MAX_REDIRECTS = 10
USER_AGENT = "tiltmeter"


class RefusalError(Exception):
    """A request failed, and a retry would not help. The message continues a sentence whose subject is the server."""


class StatusError(RefusalError):
    """A response with an error status that a retry would not change, such as 404."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(f"answers {describe_status(response)}")
        self.status = response.status_code


@contextmanager
def open_stream(
    url: str, headers: Mapping[str, str], timeout: float, *, token: str | None = None
) -> Iterator[httpx2.Response]:
    """Yield the response to a GET request; read its body inside the `with` block.

    Raises a TransientError if the connection is lost, even while the body is read. Raises a RefusalError for a
    permanent failure. After a redirect to another server, neither `token` nor a login in the address is sent. Proxy
    settings are read from environment variables.
    """
    try:
        http = httpx2.Client(verify=get_tls_context(), headers={"User-Agent": USER_AGENT}, timeout=timeout)
    except (ValueError, OSError) as error:  # for example a wrong HTTPS_PROXY or SSL_CERT_FILE variable
        raise RefusalError(f"cannot be reached with the environment's proxies or certificates ({error})") from error
    try:
        with http:
            response = _send_request(http, url, headers, token)
            try:
                yield response
            finally:
                response.close()
    except httpx2.TransportError as error:
        raise TransientError(describe_error(error)) from error
    except httpx2.InvalidURL as error:
        raise RefusalError(f"is not a valid address ({error})") from error


def _send_request(http: httpx2.Client, url: str, headers: Mapping[str, str], token: str | None) -> httpx2.Response:
    """Send the request, follow redirects, and return the first successful response."""
    target, login = _split_login(url)
    login = {"Authorization": f"Bearer {token}"} if token else login
    for _ in range(MAX_REDIRECTS + 1):
        response = http.send(http.build_request("GET", target, headers={**headers, **login}), stream=True)
        if response.is_success:
            return response
        response.close()
        if not response.has_redirect_location:
            if is_transient(response.status_code):
                after = parse_retry_after(response.headers.get("Retry-After"))
                raise TransientError(f"the response was {describe_status(response)}", after)
            raise StatusError(response)
        following = resolve_redirect(target, response.headers["Location"])
        login = login if following.origin == target.origin else {}
        target = following
    raise RefusalError(f"redirects more than {MAX_REDIRECTS} times")


def resolve_redirect(before: httpx2.URL, location: str) -> httpx2.URL:
    """Return the address that a redirect leads to.

    Raises a RefusalError if the address is not http or https, or if the redirect leads from https to http.
    """
    following = before.join(location)
    if following.scheme not in ("http", "https") or (before.scheme == "https" and following.scheme != "https"):
        raise RefusalError(f"redirects to {following.scheme}://, which is not followed")
    return following


def _split_login(url: str) -> tuple[httpx2.URL, dict[str, str]]:
    """Return the address without user name and password, and the HTTP header that contains them."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    login = {"Authorization": f"Basic {b64encode(unquote(user).encode()).decode()}"} if at else {}
    return httpx2.URL(urlunsplit(parts._replace(netloc=host))), login


def describe_status(response: httpx2.Response) -> str:
    """Return the HTTP status and its phrase, such as `404 Not Found`."""
    return f"{response.status_code} {response.reason_phrase}".rstrip()


def describe_error(error: Exception) -> str:
    """Return the message of an error, or the name of its class if the message is empty."""
    return str(error) or type(error).__name__
