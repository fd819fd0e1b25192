"""Identical proposals: the same change for the same subject in several items, on which a reviewer decides at once.

A reviewer sees the changed text of each item before deciding. Items that would have an unsettled warning with the new
text, and items that changed after the preview, are left for single decisions.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tiltmeter.errors import UsageError
from tiltmeter.making.review.indexed_item import IndexedItem, ProposedChange
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_list import ReviewList
from tiltmeter.making.review.review_marks import MarkedPiece, mark_changes

# Maximum number of items in one preview, so that a person can read it.
MOST_ITEMS = 50
# What to do with the items: use the proposed text, or keep the present text.
BulkChoice = Literal["use", "keep"]


@dataclass(frozen=True, slots=True)
class ProposalGroup:
    """Identical proposals; `change` is the proposal for the first of the items."""

    key: str
    subject: str
    change: ProposedChange
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreviewedItem:
    """An item in the preview of a group: the proposed change, and why a single decision is needed, if it is.

    `shown` is the digest of the item's texts. `others` is the number of other problems of the item, which would also be
    settled; such an item is not selected at first.
    """

    item: str
    title: str
    shown: str
    pieces: list[MarkedPiece]
    others: int
    obstacle: str


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The items on which decisions were stored, and the reasons why other items were left out."""

    stored: list[str]
    refused: dict[str, str]


def list_proposal_groups(review: Review, items: ReviewList, reviewer: str) -> list[ProposalGroup]:
    """Return the identical proposals for at least two items that the reviewer can decide on, largest group first."""
    groups: defaultdict[str, list[IndexedItem]] = defaultdict(list)
    entries = [entry for entry in items.list_entries() if entry.changes]
    decidable = review.select_decidable_items(reviewer, (entry.item for entry in entries))
    for entry in entries:
        if entry.item in decidable:
            for key in dict.fromkeys(change.key for change in entry.changes):
                groups[key].append(entry)
    found = [_build_group(members, key) for key, members in groups.items() if len(members) > 1]
    return sorted(found, key=lambda group: -len(group.items))


def find_proposal_group(review: Review, items: ReviewList, reviewer: str, key: str) -> ProposalGroup | None:
    """Return a group of identical proposals; None if fewer than two items of it remain for the reviewer."""
    entries = [entry for entry in items.list_entries() if _find_change(entry, key)]
    decidable = review.select_decidable_items(reviewer, (entry.item for entry in entries))
    members = [entry for entry in entries if entry.item in decidable]
    return _build_group(members, key) if len(members) > 1 else None


def _build_group(members: Sequence[IndexedItem], key: str) -> ProposalGroup:
    change = next(change for change in members[0].changes if change.key == key)
    return ProposalGroup(key, members[0].subject, change, tuple(entry.item for entry in members))


def _find_change(entry: IndexedItem | None, key: str) -> ProposedChange | None:
    return next((change for change in entry.changes if change.key == key), None) if entry else None


def preview_group(review: Review, items: ReviewList, group: ProposalGroup) -> list[PreviewedItem]:
    """Return the first items of a group with their changed texts."""
    changes = {item: _find_change(items.get_entry(item), group.key) for item in group.items[:MOST_ITEMS]}
    return [_preview_item(review, item, change) for item, change in changes.items() if change]


def _preview_item(review: Review, item: str, change: ProposedChange) -> PreviewedItem:
    view = review.get_view(item)
    try:
        obstacle = next((one.message for one in review.find_obstacles(view, {change.field: change.text})), "")
    except UsageError as error:
        obstacle = str(error)
    others = len({(one.reason, one.field) for one in view.problems} - {(change.reason, change.field)})
    pieces = mark_changes(view.texts[change.field], change.text)
    return PreviewedItem(item, view.title, view.shown, pieces, others, obstacle)


def decide_on_group(
    review: Review,
    items: ReviewList,
    reviewer: str,
    key: str,
    choice: BulkChoice,
    shown: Mapping[str, str],
    *,
    seconds: float = 0.0,
    via: str = "",
) -> BulkResult:
    """Store the reviewer's decisions on the items of a group, all in one transaction.

    `shown` maps the selected items to the digests of the texts that the preview showed. `seconds` is the time that the
    reviewer needed for the whole preview.
    """
    texts: dict[str, Mapping[str, str]] = {}
    for item in shown:
        if change := _find_change(items.get_entry(item), key):
            texts[item] = {change.field: change.text} if choice == "use" else {}
    decisions = {item: (text, shown[item]) for item, text in texts.items()}
    stored, refused = review.decide_on_items(reviewer, decisions, seconds=seconds, via=via)
    changed = {item: f"{item} has changed since you opened it" for item in shown if item not in texts}
    return BulkResult(stored, {**refused, **changed})
