"""Grouping of entries by a key."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Entry = TypeVar("Entry")
Key = TypeVar("Key", bound=Hashable)


def group_by(entries: Iterable[Entry], key: Callable[[Entry], Key]) -> dict[Key, list[Entry]]:
    """Return a dictionary from each key to the list of its entries; keys are in the order of their first occurrence.

    >>> group_by(["en", "de", "es"], lambda code: code[0])
    {'e': ['en', 'es'], 'd': ['de']}
    """
    groups: dict[Key, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return groups
