"""An index of the texts of a project's items in memory, for the list of items and for identical proposals.

If an item changes in the database, only the entry of this item is built again. The index of many items is cached in the
database, so that it is not built again when the project is opened.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.forms import get_item_form
from tiltmeter.making.open_problems import OpenProblem
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.review.indexed_item import IndexedItem, ProposedChange
from tiltmeter.making.review.review_marks import mark_changes
from tiltmeter.making.review.review_outcomes import get_unreviewed_texts
from tiltmeter.making.review.review_queue import QueuedItem
from tiltmeter.making.review.review_views import choose_title, format_field
from tiltmeter.making.review.stored_index import compute_signature, load_index, store_index

# If more than this number of items have changed, the texts of all items are read together.
_MANY = 200


@dataclass(frozen=True, slots=True)
class _CachedEntry:
    """An entry with its item in the queue; it is valid while the key and the open problems of the item are the same."""

    key: tuple[object, ...]
    problems: list[OpenProblem]
    pair: tuple[IndexedItem, QueuedItem]


class ReviewIndex:
    """The index of the items of a project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._entries: dict[str, _CachedEntry] = {}

    def refresh(self, queued: Iterable[tuple[QueuedItem, list[OpenProblem]]]) -> list[tuple[IndexedItem, QueuedItem]]:
        """Return the entries of these items with the items, in the same order; changed items are read again.

        Entries and pairs of unchanged items are reused: to allocate thousands of objects starts the garbage collector,
        which needs more time than everything else.
        """
        known, order, stale = self._entries, [], []
        for one, problems in queued:
            own = known.get(one.item)
            order.append(one.item)
            if own is None or own.pair[1] is not one or own.key != one.key or own.problems != problems:
                stale.append((one, problems))
        self._read_items(stale)
        self._entries = {item: self._entries[item] for item in order}
        return [one.pair for one in self._entries.values()]

    def get_entry(self, item: str) -> IndexedItem | None:
        """Return the entry of an item from the last call of `refresh`; None if it was not among the items."""
        return self._entries[item].pair[0] if item in self._entries else None

    def _read_items(self, stale: Sequence[tuple[QueuedItem, list[OpenProblem]]]) -> None:
        """Read the entries of these items from the cache, or build them from the texts in the database."""
        is_many = len(stale) > _MANY
        cached = load_index(self._project.store) if is_many else {}
        signatures = {one.item: compute_signature(one.key, problems) for one, problems in stale} if is_many else {}
        missing = []
        for one, problems in stale:
            signature, entry = cached.get(one.item, ("", None))
            if entry is not None and signature == signatures[one.item]:
                self._entries[one.item] = _CachedEntry(one.key, list(problems), (entry, one))
            else:
                missing.append((one, problems))
        self._build_entries(missing)
        if len(missing) > _MANY and not self._project.store.is_writing:
            built = {item: (signature, self._entries[item].pair[0]) for item, signature in signatures.items()}
            store_index(self._project.store, cached | built)

    def _build_entries(self, stale: Sequence[tuple[QueuedItem, list[OpenProblem]]]) -> None:
        store, is_many = self._project.store, len(stale) > _MANY
        entries = {entry.id: entry for entry in store.list_items(dropped=None)} if is_many else {}
        texts = store.list_texts("text") if is_many else {}
        applied = store.list_applied_texts() if is_many else {}
        for one, problems in stale:
            item = one.item
            entry = entries.get(item) or store.get_item(item)
            own = (applied.get(item) or texts.get(item, {})) if is_many else get_unreviewed_texts(self._project, item)
            indexed = self._index_item(entry, own, problems)
            self._entries[item] = _CachedEntry(one.key, list(problems), (indexed, one))

    def _index_item(self, entry: ProjectItem, texts: Mapping[str, str], problems: Sequence[OpenProblem]) -> IndexedItem:
        item = self._project.get_source_item(entry)
        wanted = self._project.maker.list_texts_to_translate(item)
        source = {text.field: text.text for text in wanted if text.role != "filled"}
        form = get_item_form(item)
        names, attributes = form.text_names(item), form.attributes(item)
        content = "\n".join((entry.id, entry.subject, *source.values(), *texts.values())).casefold()
        changes = [
            _build_change(entry.subject, names.get(problem.field) or format_field(problem.field), problem, text, texts)
            for problem in problems
            for text in problem.proposals
            if problem.field in source and text != texts.get(problem.field, "")
        ]
        return IndexedItem(
            entry.id,
            choose_title(source, texts),
            entry.part,
            entry.subject,
            str(attributes.get("bias_type", "") or ""),
            tuple(dict.fromkeys(problem.reason for problem in problems)),
            content,
            tuple(changes),
        )


def _build_change(subject: str, role: str, problem: OpenProblem, text: str, texts: Mapping[str, str]) -> ProposedChange:
    pieces = mark_changes(texts.get(problem.field, ""), text)
    removed = " … ".join(piece.text for piece in pieces if piece.kind == "removed")
    added = " … ".join(piece.text for piece in pieces if piece.kind == "added")
    content = json.dumps([subject, role, problem.reason, removed, added], ensure_ascii=False)
    key = hashlib.sha256(content.encode()).hexdigest()[:16]
    return ProposedChange(key, problem.field, role, problem.reason, text, removed, added)
