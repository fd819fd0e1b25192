"""The list of the items of a review: filters, search and order."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tiltmeter.making.review.indexed_item import IndexedItem
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_index import ReviewIndex
from tiltmeter.making.review.review_queue import QueuedItem
from tiltmeter.making.review.review_rule import ReviewState

# The number of items on one page of the list.
PAGE = 100
# Sort orders; `position` is the order of the project.
SORTS = ("position", "title", "subject", "bias_type", "reason", "state", "quality")


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Which items to list, and in which order; an empty text selects all items.

    `mine` is `open` (the reviewer has not decided) or `done`. `reviewer` selects the items on which a person has
    decided. `quality` is the highest estimated quality. `start` is the position of the first item of the page.
    """

    reason: str = ""
    bias_type: str = ""
    subject: str = ""
    state: str = ""
    mine: str = ""
    reviewer: str = ""
    quality: float | None = None
    search: str = ""
    sort: str = "position"
    is_descending: bool = False
    start: int = 0


@dataclass(frozen=True, slots=True)
class ListedItem:
    """An item of the list. `state` and `deciders` are None if the user must not see the progress of others."""

    entry: IndexedItem
    is_decided: bool
    state: ReviewState | None
    deciders: tuple[str, ...] | None
    quality: float


@dataclass(frozen=True, slots=True)
class ItemListing:
    """One page of the list: its items, the number of all selected items, and the position of the first.

    `has_quality` is true if the estimated quality of any item of the project is lower than 1.
    """

    items: list[ListedItem]
    count: int
    start: int
    has_quality: bool


@dataclass(frozen=True, slots=True)
class FilterValues:
    """The values by which a list can be filtered, each with its number of items."""

    reasons: Counter[str] = field(default_factory=Counter)
    bias_types: Counter[str] = field(default_factory=Counter)
    subjects: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    reviewers: Counter[str] = field(default_factory=Counter)


class ReviewList:
    """The list of the items in a review; it is built again after a change of the project."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._index = ReviewIndex(review.project)
        self._revision: object = None
        self._items: list[tuple[IndexedItem, QueuedItem]] = []

    def list_entries(self) -> list[IndexedItem]:
        """Return the entries of all items in the queue, in the order of the project."""
        return [entry for entry, _ in self._refresh()]

    def get_entry(self, item: str) -> IndexedItem | None:
        """Return the entry of an item; None if the item is not in the queue."""
        self._refresh()
        return self._index.get_entry(item)

    def list_items(self, reviewer: str, chosen: ItemFilter, *, sees_all: bool) -> ItemListing:
        """Return the selected items. With `sees_all`, the list shows the states of items and who has decided."""
        everything, words = self._refresh(), chosen.search.casefold().split()
        found = [(entry, queued) for entry, queued in everything if _is_selected(entry, queued, chosen, words)]
        if chosen.mine:
            found = [one for one in found if _has_decided(one[1], reviewer) == (chosen.mine == "done")]
        if chosen.sort == "state":
            found.sort(key=lambda one: (one[1].state if sees_all else "", _has_decided(one[1], reviewer)))
        elif chosen.sort in _ORDERS:
            order = _ORDERS[chosen.sort]
            found.sort(key=lambda one: order(*one))
        if chosen.is_descending:
            found.reverse()
        start = min(chosen.start, max(0, len(found) - 1)) // PAGE * PAGE
        page = [_build_row(*one, reviewer, sees_all=sees_all) for one in found[start : start + PAGE]]
        return ItemListing(page, len(found), start, any(queued.quality < 1 for _, queued in everything))

    def count_values(self, *, sees_all: bool) -> FilterValues:
        """Return the values by which the list can be filtered; those of the decisions only with `sees_all`."""
        items = self._refresh()
        decided = [queued for _, queued in items] if sees_all else []
        return FilterValues(
            reasons=Counter(reason for entry, _ in items for reason in entry.reasons),
            bias_types=Counter(entry.bias_type for entry, _ in items if entry.bias_type),
            subjects=Counter(entry.subject for entry, _ in items if entry.subject),
            states=Counter(queued.state for queued in decided),
            reviewers=Counter(name for queued in decided for name in queued.deciders),
        )

    def _refresh(self) -> list[tuple[IndexedItem, QueuedItem]]:
        """Return all items in the order of the project; read changed items again."""
        revision = self._review.get_revision()
        if revision != self._revision:
            self._items = self._index.refresh(self._review.list_queued_items())
            self._revision = revision
        return self._items


def _build_row(entry: IndexedItem, queued: QueuedItem, reviewer: str, *, sees_all: bool) -> ListedItem:
    is_decided = _has_decided(queued, reviewer)
    state, deciders = (queued.state, queued.deciders) if sees_all else (None, None)
    return ListedItem(entry, is_decided, state, deciders, queued.quality)


def _has_decided(queued: QueuedItem, reviewer: str) -> bool:
    return any(name.casefold() == reviewer.casefold() for name in queued.deciders)


def _is_selected(entry: IndexedItem, queued: QueuedItem, chosen: ItemFilter, words: Sequence[str]) -> bool:
    return (
        (not chosen.reason or chosen.reason in entry.reasons)
        and (not chosen.bias_type or chosen.bias_type == entry.bias_type)
        and (not chosen.subject or chosen.subject == entry.subject)
        and (not chosen.state or chosen.state == queued.state)
        and (not chosen.reviewer or chosen.reviewer in queued.deciders)
        and (chosen.quality is None or queued.quality <= chosen.quality)
        and (not words or all(word in entry.content for word in words))
    )


_ORDERS: dict[str, Callable[[IndexedItem, QueuedItem], tuple[Any, ...]]] = {
    "title": lambda entry, _: (entry.title.casefold(),),
    "subject": lambda entry, _: (entry.subject.casefold(),),
    "bias_type": lambda entry, _: (entry.bias_type,),
    "reason": lambda entry, _: (not entry.reasons, entry.reasons),
    "quality": lambda _, queued: (queued.quality,),
}
