"""The entries of the index of a project's items."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """A proposal for a text of an item.

    Proposals with the same `key` are identical: the same subject, the same role of the text, the same reason, and the
    same words that are removed and added.
    """

    key: str
    field: str
    role: str
    reason: str
    text: str
    removed: str
    added: str


@dataclass(frozen=True, slots=True)
class IndexedItem:
    """The values of an item by which it is listed; `content` has all texts of the item, in lower case.

    `reasons` are the names of the item's open problems.
    """

    item: str
    title: str
    part: str
    subject: str
    bias_type: str
    reasons: tuple[str, ...]
    content: str
    changes: tuple[ProposedChange, ...]
