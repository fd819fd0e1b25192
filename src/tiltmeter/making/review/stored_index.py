"""The cache of the index of a project's items in its database, so that the list of thousands of items opens quickly.

A cached entry is valid while the key (see `read_item_keys`) and the open problems of its item are the same.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from tiltmeter import __version__
from tiltmeter.making.open_problems import OpenProblem
from tiltmeter.making.project_store import ProjectStore
from tiltmeter.making.review.indexed_item import IndexedItem, ProposedChange

# These functions are much faster than `dataclasses.astuple`.
_list_problem_values = attrgetter(*(field.name for field in fields(OpenProblem)))
_list_change_values = attrgetter(*(field.name for field in fields(ProposedChange)))
_list_entry_values = attrgetter(*(field.name for field in fields(IndexedItem) if field.name != "changes"))


def compute_signature(key: tuple[object, ...], problems: Sequence[OpenProblem]) -> str:
    """Return a digest of the values from which an entry was built: the key and the open problems of the item."""
    content = json.dumps([key, *map(_list_problem_values, problems)])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def store_index(store: ProjectStore, entries: Mapping[str, tuple[str, IndexedItem]]) -> None:
    """Replace the cache by these entries, each with its signature, by item."""
    found = {
        item: [signature, _list_entry_values(entry), list(map(_list_change_values, entry.changes))]
        for item, (signature, entry) in entries.items()
    }
    store.store_review_index(__version__, json.dumps(found, ensure_ascii=False))


def load_index(store: ProjectStore) -> dict[str, tuple[str, IndexedItem]]:
    """Return the cached entries with their signatures by item; empty if the version of Tiltmeter has changed."""
    text = store.load_review_index(__version__)
    found: dict[str, list[Any]] = json.loads(text) if text else {}
    return {item: (signature, _read_entry(values, changes)) for item, (signature, values, changes) in found.items()}


def _read_entry(values: Sequence[Any], changes: Sequence[Sequence[str]]) -> IndexedItem:
    item, title, part, subject, bias_type, reasons, content = values
    own = tuple(ProposedChange(*change) for change in changes)
    return IndexedItem(item, title, part, subject, bias_type, tuple(reasons), content, own)
