"""The user name and password of a self-hosted translation server."""

import os
from urllib.parse import quote, urlsplit, urlunsplit

from tiltmeter.errors import UsageError

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
    """Whether an address contains a user name or a password."""
    return "://" in url and "@" in urlsplit(url).netloc
