"""The queue of a review in memory: of each item its state, who decided on it and who has it in hand.

It follows the database: what this connection writes is brought in item by item, and if anything else was written, by
another process or another part of this one, all items are compared with what is stored, and those that changed are read
again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from tiltmeter.making.open_problems import OpenProblem, assemble_items
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.review.review_outcomes import get_unreviewed_texts, select_current
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewRule, ReviewState, settle_decisions
from tiltmeter.making.review.stored_problems import format_key, load_problems, store_problems

# With more items to read again than this, everything is read at once.
_MANY = 200

_Key = tuple[object, ...]


@dataclass(slots=True)
class QueuedItem:
    """An item that can be reviewed: its state by the decisions on its present texts, and who made them."""

    item: str
    part: str
    subject: str
    state: ReviewState = "open"
    deciders: tuple[str, ...] = ()
    decisions: int = 0
    key: _Key = ()


@dataclass(slots=True)
class _HeldSlot:
    reviewer: str
    expires: float


@dataclass(slots=True)
class _QueueState:
    """What the queue knows; all of it is found anew from the database when something else has written to it."""

    items: dict[str, QueuedItem] = field(default_factory=dict)
    decided: dict[str, set[str]] = field(default_factory=dict)
    wanting: set[str] = field(default_factory=set)
    slots: dict[str, dict[int, _HeldSlot]] = field(default_factory=dict)
    asked: dict[str, set[str]] = field(default_factory=dict)


class ReviewQueue:
    """The items of a review, in the project's order. Methods are called inside a transaction, or only read."""

    def __init__(self, project: Project, rule: ReviewRule) -> None:
        self._project = project
        self._store = project.store
        self._rule = rule
        self._stamp: object = None
        self._steps = -1
        self._problems: dict[str, list[OpenProblem]] = {}
        self._known = _QueueState()

    # What is there

    def refresh(self) -> None:
        """Bring the queue up to date, if anything was written to the database that it does not know of."""
        stamp = self._store.stamp()
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
            asked=self._store.list_unanswered(),
        )
        for item, slot, reviewer, expires in self._store.list_slots():
            self._known.slots.setdefault(item, {})[slot] = _HeldSlot(reviewer, expires)
        self._read(stale, {item: keys[item][2] for item in stale}, examined)
        for entry in self._known.items.values():
            self._place(entry)
        self._stamp = stamp

    def invalidate(self) -> None:
        """Compare everything with the database at the next refresh."""
        self._stamp = None

    def update_item(self, item: str) -> None:
        """Bring in what this connection has just written about an item, inside the transaction that wrote it."""
        keys = {name: key for name, (_, _, key) in self._store.read_item_keys(item).items()}
        if item not in self._known.items or item not in keys:
            return  # it cannot be reviewed any more, or now can: the next refresh finds that
        entry = self._known.items[item]
        self._displace(entry)
        self._read([item], keys, ())
        self._place(entry)
        self._stamp = self._store.stamp()

    def _place(self, entry: QueuedItem) -> None:
        """Enter an item into what is counted."""
        for name in entry.deciders:
            self._known.decided.setdefault(name, set()).add(entry.item)
        is_settled = entry.state in ("conflict", "adjudicated")
        if self._is_queued(entry) and not is_settled and len(entry.deciders) < self._rule.reviewers:
            self._known.wanting.add(entry.item)

    def _displace(self, entry: QueuedItem) -> None:
        self._known.wanting.discard(entry.item)
        for name in entry.deciders:
            self._known.decided[name].discard(entry.item)

    def _is_queued(self, entry: QueuedItem) -> bool:
        return bool(self._project.settings.review == "all" or entry.deciders or entry.item in self._problems)

    def entries(self) -> Iterator[QueuedItem]:
        """The items that are in the queue: with a decision, with a problem, or all if the project says so."""
        return filter(self._is_queued, self._known.items.values())

    def problems(self, item: str) -> list[OpenProblem]:
        """The open problems of an item."""
        return self._problems.get(item, [])

    def in_hand(self, item: str, now: float) -> int:
        """How many people have an item in hand."""
        return sum(held.expires > now for held in self._known.slots.get(item, {}).values())

    def decided(self, reviewer: str) -> int:
        """On how many items a reviewer has decided."""
        return len(self._known.decided.get(reviewer, ()))

    def left(self, reviewer: str) -> int:
        """How many items a reviewer can still be asked about, those about which they ask something included."""
        return len(self._known.wanting) - len(self._known.wanting & self._known.decided.get(reviewer, set()))

    def asked(self, reviewer: str) -> set[str]:
        """The items about which a reviewer has asked something that nobody has answered."""
        return self._known.asked.get(reviewer, set())

    # What comes next

    def take(self, reviewer: str, now: float, held: float, skip: Collection[str]) -> str | None:
        """The next item for a reviewer, held for them; what they have in hand already comes first.

        An item wants one more decision than those made and in others' hands. All reviewers who are asked decide, even
        if enough of them agree before, since agreement is measured on them.
        """
        passed_over = {*self.asked(reviewer), *self._known.decided.get(reviewer, ()), *skip}
        wanting = self._known.wanting
        own = {item for item, slots in self._known.slots.items() if self._is_held(slots, reviewer, now)}
        for chosen in (own, wanting) if own else (wanting,):
            for item, entry in self._known.items.items():
                if item in chosen and item in wanting and item not in passed_over:
                    slots = self._known.slots.get(item, {}).values()
                    others = sum(one.expires > now and one.reviewer != reviewer for one in slots)
                    if len(entry.deciders) + others < self._rule.reviewers:
                        self._hold(item, reviewer, now, now + held)
                        return item
        return None

    @staticmethod
    def _is_held(slots: Mapping[int, _HeldSlot], reviewer: str, now: float) -> bool:
        return any(held.reviewer == reviewer and held.expires > now for held in slots.values())

    def _hold(self, item: str, reviewer: str, now: float, expires: float) -> None:
        others = {
            slot: held
            for slot, held in self._known.slots.get(item, {}).items()
            if held.reviewer != reviewer and held.expires > now
        }
        slot = next(number for number in count(1) if number not in others)
        self._store.free_slots(item, reviewer)
        self._store.take_slot(item, slot, reviewer, expires)
        self._known.slots[item] = {**others, slot: _HeldSlot(reviewer, expires)}
        self._stamp = self._store.stamp()

    def free(self, item: str, reviewer: str) -> None:
        """Take an item out of a reviewer's hands."""
        self._store.free_slots(item, reviewer)
        slots = self._known.slots.get(item, {})
        left = {slot: held for slot, held in slots.items() if held.reviewer != reviewer}
        if left:
            self._known.slots[item] = left
        else:
            self._known.slots.pop(item, None)
        self._stamp = self._store.stamp()

    # Inside

    def _find_problems(self, keys: Mapping[str, _Key]) -> Collection[str]:
        """The open problems of all items, found anew after each step of the project, which may change all of them.

        Returns the items whose problems are those that they have now.
        """
        steps = self._store.count_steps()
        if steps == self._steps:
            return ()
        kept = load_problems(self._store)
        same = {item for item, (key, _) in kept.items() if item in keys and key == format_key(keys[item])}
        changed = keys.keys() - same - self._store.list_decided_items().keys()
        if len(changed) <= _MANY:  # they are examined one by one; those with decisions keep their problems
            found = {item: list(problems) for item, (_, problems) in kept.items() if problems}
        else:
            found, same = {}, set(keys)
            for problem in assemble_items(self._project, for_review=True).problems:
                found.setdefault(problem.item, []).append(problem)
            if not self._store.is_writing:
                store_problems(self._store, keys, found)
        self._steps, self._problems, self._known = steps, found, _QueueState()
        return same

    def _read(self, items: list[str], keys: Mapping[str, _Key], examined: Collection[str]) -> None:
        for entry, texts, decisions in self._stored(items):
            known = self._known.items[entry.id]
            current = select_current(entry, texts, decisions) if decisions else []
            known.state = settle_decisions(current, self._rule).state
            known.deciders = tuple(dict.fromkeys(decision.reviewer for decision in current))
            known.decisions = len(current)
            known.key = keys[entry.id]
            # An item without a decision has the problems that it has now; one with decisions, those before them.
            if entry.id not in examined and not current:
                found = assemble_items(self._project, entry.id, for_review=True).problems
                found += [one for one in self._problems.get(entry.id, ()) if one.reason.startswith("duplicate")]
                self._problems.pop(entry.id, None)
                if found:
                    self._problems[entry.id] = list(dict.fromkeys(found))

    def _stored(self, items: list[str]) -> Iterator[tuple[ProjectItem, dict[str, str], list[ReviewDecision]]]:
        """Items with their texts before the review and the decisions that stand; texts only where these are."""
        store = self._store
        if len(items) <= _MANY:
            for item in items:
                decisions = list(store.decisions(item))
                yield store.item(item), get_unreviewed_texts(self._project, item) if decisions else {}, decisions
            return
        by_item = group_by_item(store.decisions())
        wanted, texts, applied = set(items), store.texts("text") if by_item else {}, store.list_applied_texts()
        for entry in store.items(dropped=None):
            if entry.id in wanted:
                yield entry, applied.get(entry.id) or texts.get(entry.id, {}), by_item.get(entry.id, [])


def group_by_item(decisions: Iterable[ReviewDecision]) -> dict[str, list[ReviewDecision]]:
    """Decisions by the item that they are about."""
    found: dict[str, list[ReviewDecision]] = {}
    for decision in decisions:
        found.setdefault(decision.item, []).append(decision)
    return found
