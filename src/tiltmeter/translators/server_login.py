"""Address, user name and password of a self-hosted translation server."""

import os
from urllib.parse import quote, urlsplit, urlunsplit

from tiltmeter.errors import UsageError

LOGIN = "TILTMETER_TRANSLATOR_LOGIN"
"""The environment variable with the login NAME:PASSWORD, which is used if an address contains no login."""


def normalise_url(url: str) -> str:
    """Return the URL without a trailing slash; raise a UsageError if the URL is invalid.

    If the URL has no login, the login in the environment variable TILTMETER_TRANSLATOR_LOGIN is added, if it is set.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"{url!r} is not an http(s) address; use for example http://localhost:5000.")
    user, colon, password = os.environ.get(LOGIN, "").partition(":")
    if colon and "@" not in parts.netloc:
        url = urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))
    return url.rstrip("/")


def has_password(url: str) -> bool:
    """Return whether a URL contains a login: a user name, with or without a password.

    >>> has_password("https://me:secret@host"), has_password("my-model@https://host/v1")
    (True, False)
    """
    _, mark, rest = url.partition("://")
    return bool(mark) and "@" in urlsplit(f"//{rest}").netloc
