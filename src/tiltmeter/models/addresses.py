"""Addresses of servers without what must not be written down: user names, passwords, keys in a query."""

from urllib.parse import urlsplit, urlunsplit


def public_address(address: str) -> str:
    """The address without the user name, the password and the query that it may contain.

    >>> public_address("https://me:secret@host/v1?key=secret")
    'https://host/v1'
    """
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="")).rstrip("/")


def public_name(name: str) -> str:
    """The name of a model without the password and the query in the address of its server.

    >>> public_name("chat:my-model@https://me:secret@host/v1?key=secret")
    'chat:my-model@https://host/v1'
    """
    served, at, address = name.partition("://")
    if not at:
        return name
    model, _, scheme = served.rpartition("@")
    return f"{model}@{public_address(f'{scheme}://{address}')}" if model else name
