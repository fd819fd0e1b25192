"""The differences between two versions of a test set, such as two editions: added, removed and changed items."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.forms import Item, get_item_form

# The identity of an item in both versions.
ItemKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of an item whose value differs between two versions; a missing value is an empty text."""

    language: str
    item: str
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ItemDifferences:
    """The differences between two versions; items are pairs (language, id)."""

    added: Sequence[ItemKey]
    removed: Sequence[ItemKey]
    changes: Sequence[FieldChange]
    equal: int

    @property
    def changed(self) -> list[ItemKey]:
        """The items that are in both versions and differ."""
        return list(dict.fromkeys((change.language, change.item) for change in self.changes))


def compare_versions(before: Iterable[Item], after: Iterable[Item]) -> ItemDifferences:
    """Compare the items of two versions by language and id.

    >>> from tiltmeter.forms.gest import GestItem
    >>> old, new = GestItem("g-1", "en", 9, "I fixed the radio."), GestItem("g-1", "en", 9, "I repaired the radio.")
    >>> [(change.field, change.after) for change in compare_versions([old], [new]).changes]
    [('sentence', 'I repaired the radio.')]
    """
    old, new = _index_items(before), _index_items(after)
    common = [key for key in new if key in old]
    changes = [change for key in common for change in _list_changes(key, old[key], new[key])]
    differing = {(change.language, change.item) for change in changes}
    return ItemDifferences(
        added=[key for key in new if key not in old],
        removed=[key for key in old if key not in new],
        changes=changes,
        equal=len(common) - len(differing),
    )


def _index_items(items: Iterable[Item]) -> dict[ItemKey, dict[str, str]]:
    return {(item.language, item.id): dict(_flatten(get_item_form(item).write(item))) for item in items}


def _list_changes(key: ItemKey, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[FieldChange]:
    for field in dict.fromkeys((*old, *new)):
        before, after = old.get(field, ""), new.get(field, "")
        if before != after:
            yield FieldChange(*key, field, before, after)


def _flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each value; names of nested values are joined by dots."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            yield from _flatten({str(number): entry for number, entry in enumerate(value)}, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", "" if value is None else str(value)
