"""Remove user names, passwords and keys from addresses and messages."""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote, urlsplit, urlunsplit

# Matches the user name and password of an address in a text.
_USER = re.compile(r"(?<=://)[^\s/'\"<>]+@")
# Matches a secret in the query of an address.
_QUERY = re.compile(r"(?i)([?&](?:[a-z_-]*key|[a-z_-]*token|password|secret|signature)=)[^&\s'\"<>]+")
# `_KEY_NAME` matches the names of environment variables whose value is a key or password. `_ADDRESS_NAME` matches the
# names of variables whose value is an address, perhaps with a password.
_KEY_NAME = re.compile(r"(?i)(key|token|secret|password|_login)$")
_ADDRESS_NAME = re.compile(r"(?i)(_proxy|^TILTMETER_MIRROR|^HF_ENDPOINT)$")
_SHORTEST_KEY = 8


def redact_address(address: str) -> str:
    """Return the address without user name, password and query.

    >>> redact_address("https://me:secret@host/v1?key=secret")
    'https://host/v1'
    """
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="")).rstrip("/")


def redact_model_name(name: str) -> str:
    """Return the name of a model without the login and the query in the address of its server.

    >>> redact_model_name("chat:my-model@https://me:secret@host/v1?key=secret")
    'chat:my-model@https://host/v1'
    """
    served, at, address = name.partition("://")
    if not at:
        return name
    model, _, scheme = served.rpartition("@")
    return f"{model}@{redact_address(f'{scheme}://{address}')}" if model else name


def redact_secrets(text: str) -> str:
    """Return the text without logins and keys in addresses, and without keys that are values of environment variables.

    >>> redact_secrets("http://me:secret@host/v1?api_key=123&page=2 cannot be reached")
    'http://host/v1?api_key=***&page=2 cannot be reached'
    """
    text = _QUERY.sub(r"\1***", _USER.sub("", text))
    for secret in _list_environment_secrets(tuple(sorted(os.environ.items()))):
        text = text.replace(secret, "***")
    return text


@lru_cache(maxsize=4)
def _list_environment_secrets(environment: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the keys and passwords in environment variables, longest first."""
    return tuple(
        sorted({one for name, value in environment for one in _find_secrets(name, value)}, key=len, reverse=True)
    )


def _find_secrets(name: str, value: str) -> Iterator[str]:
    """Yield the keys and passwords in the value of the environment variable `name`."""
    # Skip paths, because some variables contain the path of a key file instead of the key.
    if _KEY_NAME.search(name) and len(value) >= _SHORTEST_KEY and not value.startswith(("/", "~", ".")):
        yield from (one for one in (value, value.partition(":")[2]) if len(one) >= _SHORTEST_KEY)
    if _ADDRESS_NAME.search(name) and "@" in value:
        user, _, password = value.rpartition("@")[0].rpartition("//")[2].partition(":")
        # Yield user and password together, because a short password alone could be part of any word.
        yield from (f"{user}:{password}", f"{unquote(user)}:{unquote(password)}") if password else ()
        yield from {one for one in (password, unquote(password)) if len(one) >= _SHORTEST_KEY}
