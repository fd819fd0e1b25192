"""The queue of a review in memory: the state of each item, its reviewers, and its reservations.

A change through this queue updates only the changed item. After any other change of the database, all items in memory
are compared with the database, and changed items are read again.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from tiltmeter.making.draft import group_by_item
from tiltmeter.making.open_problems import OpenProblem, assemble_items
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.review.review_outcomes import get_unreviewed_texts, select_decisions_on
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewRule, ReviewState, settle_decisions
from tiltmeter.making.review.stored_problems import format_key, load_problems, store_problems

# If more than this number of items have changed, all items are read together instead of one by one.
_MANY = 200

_Key = tuple[object, ...]


@dataclass(slots=True)
class QueuedItem:
    """An item that can be reviewed.

    `state`, `deciders` (the reviewers who have decided on the item) and `decisions` (their number of decisions) depend
    only on decisions about the current texts. `key` changes when the item changes in the database. `quality` is the
    estimated quality, by which the queue is ordered.
    """

    item: str
    part: str
    subject: str
    state: ReviewState = "open"
    deciders: tuple[str, ...] = ()
    decisions: int = 0
    key: _Key = ()
    quality: float = 1.0


@dataclass(slots=True)
class _Reservation:
    reviewer: str
    expires: float


@dataclass(slots=True)
class _QueueState:
    """The content of the queue, which is read again after the database was changed by other code or another process.

    `decided` maps reviewers to the items that they have decided on. `asked` maps reviewers to the items about which
    they have asked an unanswered question. `assigned` maps items to reviewers; the items in `calibration` are for all
    reviewers, and the others wait until `is_open`. `incomplete` are the items that need more decisions. `slots` maps
    items to slot numbers to reservations. `ranked` are all items, those of the lowest estimated quality first.
    """

    items: dict[str, QueuedItem] = field(default_factory=dict)
    decided: dict[str, set[str]] = field(default_factory=dict)
    incomplete: set[str] = field(default_factory=set)
    slots: dict[str, dict[int, _Reservation]] = field(default_factory=dict)
    asked: dict[str, set[str]] = field(default_factory=dict)
    assigned: dict[str, set[str]] = field(default_factory=dict)
    calibration: frozenset[str] = frozenset()
    is_open: bool = True
    ranked: list[str] = field(default_factory=list)


class ReviewQueue:
    """The items to review, in the order of the project; reviewers get the items of the lowest estimated quality first.

    Methods that write must be called inside a transaction.
    """

    def __init__(self, project: Project, rule: ReviewRule) -> None:
        self._project = project
        self._store = project.store
        self._rule = rule
        self._stamp: object = None
        self._steps = -1
        self._problems: dict[str, list[OpenProblem]] = {}
        self._known = _QueueState()

    def refresh(self) -> None:
        """Update the queue if the database was changed in another way than through this queue."""
        stamp = self._store.get_change_stamp()
        if stamp == self._stamp:
            return
        keys = self._store.read_item_keys()
        examined = self._find_problems({item: key for item, (_, _, key) in keys.items()})
        before = self._known.items
        stale = [item for item, (_, _, key) in keys.items() if item not in before or before[item].key != key]
        self._known = _QueueState(
            {
                item: before[item] if item in before else QueuedItem(item, part, subject)
                for item, (part, subject, _) in keys.items()
            },
            asked=self._store.list_unanswered_questions(),
            assigned=self._store.list_assignments(),
            calibration=frozenset(self._store.list_calibration_items()),
            is_open=self._store.is_calibration_open(),
        )
        for item, slot, reviewer, expires in self._store.list_slots():
            self._known.slots.setdefault(item, {})[slot] = _Reservation(reviewer, expires)
        self._update_entries(stale, {item: keys[item][2] for item in stale}, examined)
        for entry in self._known.items.values():
            self._add_to_indexes(entry)
        self._rank_items()
        self._stamp = stamp

    def _rank_items(self) -> None:
        """Rank the items by estimated quality, worst first; items of equal quality keep the order of the project."""
        qualities = self._store.list_estimated_qualities()
        for item, entry in self._known.items.items():
            entry.quality = qualities.get(item, 1.0)
        self._known.ranked = sorted(self._known.items, key=lambda item: self._known.items[item].quality)

    def require_full_refresh(self) -> None:
        """Make the next call of `refresh` compare all items with the database."""
        self._stamp = None

    def update_item(self, item: str) -> None:
        """Update an item of the queue from the database; call it inside the transaction that changed the item."""
        keys = {name: key for name, (_, _, key) in self._store.read_item_keys(item).items()}
        if item not in self._known.items or item not in keys:
            # The next refresh adds the item to the queue or removes it.
            return
        entry = self._known.items[item]
        self._remove_from_indexes(entry)
        self._update_entries([item], keys, ())
        self._add_to_indexes(entry)
        self._stamp = self._store.get_change_stamp()

    def _add_to_indexes(self, entry: QueuedItem) -> None:
        """Add an item to the indexes `decided` and `incomplete` of the queue."""
        for name in entry.deciders:
            self._known.decided.setdefault(name, set()).add(entry.item)
        is_settled = entry.state in ("conflict", "adjudicated")
        if self._is_queued(entry) and not is_settled and len(entry.deciders) < self._rule.reviewers:
            self._known.incomplete.add(entry.item)

    def _remove_from_indexes(self, entry: QueuedItem) -> None:
        self._known.incomplete.discard(entry.item)
        for name in entry.deciders:
            self._known.decided[name].discard(entry.item)

    def _is_queued(self, entry: QueuedItem) -> bool:
        return bool(self._project.settings.review == "all" or entry.deciders or entry.item in self._problems)

    def list_items(self) -> Iterator[QueuedItem]:
        """Return the items with a decision or an open problem; if the setting `review` is "all", return all items."""
        return filter(self._is_queued, self._known.items.values())

    def get_problems(self, item: str) -> list[OpenProblem]:
        """Return the open problems of an item."""
        return self._problems.get(item, [])

    def count_decided(self, reviewer: str) -> int:
        """Return the number of items that a reviewer has decided on."""
        return len(self._known.decided.get(reviewer, ()))

    def count_remaining(self, reviewer: str) -> int:
        """Return the number of items that a reviewer can still decide on, including items with an open question."""
        known = self._known
        if not known.assigned and not known.calibration:
            return len(known.incomplete - known.decided.get(reviewer, set()))
        candidates = (known.incomplete | known.calibration) - known.decided.get(reviewer, set())
        return sum(self._is_for(item, reviewer) for item in candidates)

    def _is_for(self, item: str, reviewer: str) -> bool:
        """Return whether an item needs a decision of a reviewer, apart from reservations."""
        known = self._known
        if item in known.calibration:
            return item in known.items and known.items[item].state != "adjudicated"
        return known.is_open and item in known.incomplete and reviewer in known.assigned.get(item, (reviewer,))

    @property
    def is_calibrating(self) -> bool:
        """Whether the calibration round goes on."""
        return not self._known.is_open

    def is_closed(self, item: str) -> bool:
        """Return whether an item is closed until the calibration round is finished."""
        return not self._known.is_open and item not in self._known.calibration

    def count_missing_decisions(self) -> int:
        """Return the number of decisions that are missing, summed over all items."""
        known = self._known
        return sum(self._rule.reviewers - len(known.items[item].deciders) for item in known.incomplete)

    def take_next_item(self, reviewer: str, now: float, held: float, skip: Collection[str]) -> str | None:
        """Return the id of the next item for a reviewer, and reserve the item; None if there is no item left.

        Items that are already reserved for the reviewer come first. The full number of reviewers decides on each item,
        even if enough of them agree earlier, because the agreement of the reviewers is measured.
        """
        known = self._known
        skipped = {*known.asked.get(reviewer, ()), *known.decided.get(reviewer, ()), *skip}
        own = {item for item, slots in known.slots.items() if self._is_reserved(slots, reviewer, now)}
        wanted = known.incomplete | known.calibration
        for chosen in (own, wanted) if own else (wanted,):
            for item in known.ranked:
                if item in chosen and item not in skipped and self.can_take(item, reviewer, now):
                    self._reserve_item(item, reviewer, now, now + held)
                    return item
        return None

    def can_take(self, item: str, reviewer: str, now: float) -> bool:
        """Return whether a reviewer can decide on an item: it needs decisions, and is not reserved for others."""
        entry = self._known.items.get(item)
        if entry is None or not self._is_for(item, reviewer):
            return False
        if any(name.casefold() == reviewer.casefold() for name in entry.deciders):
            return False
        if item in self._known.calibration:
            return True
        slots = self._known.slots.get(item)
        others = 0
        if slots:
            name = reviewer.casefold()
            others = sum(one.expires > now and one.reviewer.casefold() != name for one in slots.values())
        return len(entry.deciders) + others < self._rule.reviewers

    @staticmethod
    def _is_reserved(slots: Mapping[int, _Reservation], reviewer: str, now: float) -> bool:
        return any(held.reviewer == reviewer and held.expires > now for held in slots.values())

    def _reserve_item(self, item: str, reviewer: str, now: float, expires: float) -> None:
        others = {
            slot: held
            for slot, held in self._known.slots.get(item, {}).items()
            if held.reviewer != reviewer and held.expires > now
        }
        slot = next(number for number in count(1) if number not in others)
        self._store.free_slots(item, reviewer)
        self._store.take_slot(item, slot, reviewer, expires)
        self._known.slots[item] = {**others, slot: _Reservation(reviewer, expires)}
        self._stamp = self._store.get_change_stamp()

    def free_reservation(self, item: str, reviewer: str) -> None:
        """Delete a reviewer's reservation of an item."""
        self._store.free_slots(item, reviewer)
        slots = self._known.slots.get(item, {})
        self._known.slots[item] = {slot: held for slot, held in slots.items() if held.reviewer != reviewer}
        self._stamp = self._store.get_change_stamp()

    def _find_problems(self, keys: Mapping[str, _Key]) -> Collection[str]:
        """Load the open problems of all items from the cache, or compute them again if many items have changed.

        Return the ids of items whose problems are now up to date. If no step of the project was completed since the
        last call, do nothing and return an empty collection.
        """
        steps = self._store.count_steps()
        if steps == self._steps:
            return ()
        cached = load_problems(self._store)
        unchanged = {item for item, (key, _) in cached.items() if item in keys and key == format_key(keys[item])}
        changed = keys.keys() - unchanged - self._store.list_decided_items().keys()
        # If only a few items changed, their problems are computed one by one below; otherwise those of all items are
        # computed at once. The problems of items that already have a decision are not computed again.
        if len(changed) <= _MANY:
            problems = {item: own for item, (_, own) in cached.items() if own}
        else:
            unchanged = set(keys)
            problems = group_by_item(assemble_items(self._project, for_review=True).problems)
            if not self._store.is_writing:
                store_problems(self._store, keys, problems)
        self._steps, self._problems, self._known = steps, problems, _QueueState()
        return unchanged

    def _update_entries(self, items: list[str], keys: Mapping[str, _Key], examined: Collection[str]) -> None:
        for entry, texts, decisions in self._load_items(items):
            known = self._known.items[entry.id]
            current = select_decisions_on(entry, texts, decisions) if decisions else []
            known.state = settle_decisions(current, self._rule).state
            known.deciders = tuple(dict.fromkeys(decision.reviewer for decision in current))
            known.decisions = len(current)
            known.key = keys[entry.id]
            # An item with decisions keeps the problems that it had before the decisions.
            if entry.id not in examined and not current:
                problems = assemble_items(self._project, entry.id, for_review=True).problems
                problems += [one for one in self._problems.get(entry.id, ()) if one.reason.startswith("duplicate")]
                self._problems.pop(entry.id, None)
                if problems:
                    self._problems[entry.id] = list(dict.fromkeys(problems))

    def _load_items(self, items: list[str]) -> Iterator[tuple[ProjectItem, dict[str, str], list[ReviewDecision]]]:
        """Yield each item with its texts from before the review and its decisions.

        For an item without decisions, the texts may be empty, because they are not needed.
        """
        store = self._store
        if len(items) <= _MANY:
            for item in items:
                decisions = list(store.list_decisions(item))
                yield store.get_item(item), get_unreviewed_texts(self._project, item) if decisions else {}, decisions
            return
        by_item = group_by_item(store.list_decisions())
        wanted, texts, applied = set(items), store.list_texts("text") if by_item else {}, store.list_applied_texts()
        for entry in store.list_items(dropped=None):
            if entry.id in wanted:
                yield entry, applied.get(entry.id) or texts.get(entry.id, {}), by_item.get(entry.id, [])
