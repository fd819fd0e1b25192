"""The list of the items of a review: filters, search and order."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_index import IndexedItem, ReviewIndex
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
    reasons: tuple[str, ...]
    is_decided: bool
    state: ReviewState | None
    deciders: tuple[str, ...] | None
    quality: float | None


@dataclass(frozen=True, slots=True)
class ItemListing:
    """One page of the list: its items, the number of all selected items, and the position of the first."""

    items: list[ListedItem]
    count: int
    start: int


@dataclass(slots=True)
class FilterValues:
    """The values by which a list can be filtered, each with its number of items."""

    reasons: Counter[str] = field(default_factory=Counter)
    bias_types: Counter[str] = field(default_factory=Counter)
    subjects: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    reviewers: Counter[str] = field(default_factory=Counter)
    has_quality: bool = False


class ReviewList:
    """The list of the items in a review."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._index = ReviewIndex(review.project)

    def refresh_index(self) -> dict[str, IndexedItem]:
        """Return the entries of all items in the queue, in the order of the project."""
        return self._index.refresh(self._review.list_queued_items())

    def list_items(self, reviewer: str, chosen: ItemFilter, *, sees_all: bool) -> ItemListing:
        """Return the selected items. With `sees_all`, the list shows the states of items and who has decided."""
        found = [item for item in self._list_all(reviewer, sees_all=sees_all) if _is_selected(item, chosen)]
        if chosen.sort in SORTS and chosen.sort != "position":
            found.sort(key=_ORDERS[chosen.sort])
        if chosen.is_descending:
            found.reverse()
        start = min(chosen.start, max(0, len(found) - 1)) // PAGE * PAGE
        return ItemListing(found[start : start + PAGE], len(found), start)

    def count_values(self, reviewer: str, *, sees_all: bool) -> FilterValues:
        """Return the values by which the list can be filtered."""
        values = FilterValues()
        for item in self._list_all(reviewer, sees_all=sees_all):
            values.reasons.update(item.reasons)
            values.bias_types.update(filter(None, [item.entry.bias_type]))
            values.subjects.update(filter(None, [item.entry.subject]))
            values.states.update(filter(None, [item.state]))
            values.reviewers.update(item.deciders or ())
            values.has_quality = values.has_quality or item.quality is not None
        return values

    def _list_all(self, reviewer: str, *, sees_all: bool) -> list[ListedItem]:
        queued = self._review.list_queued_items()
        index, quality = self._index.refresh(queued), self._review.project.store.list_estimated_qualities()
        return [
            ListedItem(
                index[one.item],
                tuple(dict.fromkeys(problem.reason for problem in problems)),
                _has_decided(one, reviewer),
                one.state if sees_all else None,
                one.deciders if sees_all else None,
                quality.get(one.item),
            )
            for one, problems in queued
        ]


def _has_decided(queued: QueuedItem, reviewer: str) -> bool:
    return any(name.casefold() == reviewer.casefold() for name in queued.deciders)


def _is_selected(item: ListedItem, chosen: ItemFilter) -> bool:
    return (
        (not chosen.reason or chosen.reason in item.reasons)
        and (not chosen.bias_type or chosen.bias_type == item.entry.bias_type)
        and (not chosen.subject or chosen.subject == item.entry.subject)
        and (not chosen.state or chosen.state == item.state)
        and (not chosen.mine or (chosen.mine == "done") == item.is_decided)
        and (not chosen.reviewer or chosen.reviewer in (item.deciders or ()))
        and (chosen.quality is None or (item.quality is not None and item.quality <= chosen.quality))
        and all(word in item.entry.content for word in chosen.search.casefold().split())
    )


_ORDERS: dict[str, Callable[[ListedItem], tuple[object, ...]]] = {
    "title": lambda item: (item.entry.title.casefold(),),
    "subject": lambda item: (item.entry.subject.casefold(),),
    "bias_type": lambda item: (item.entry.bias_type,),
    "reason": lambda item: (not item.reasons, item.reasons),
    "state": lambda item: (item.state or "", item.is_decided),
    # Items without an estimate come last.
    "quality": lambda item: (item.quality is None, item.quality or 0.0),
}
