"""What a reviewer or adjudicator is shown: items, the queue, conflicts, progress; and texts that fit an item."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from tiltmeter.errors import UsageError
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewState
from tiltmeter.making.review.review_tables import ReviewQuestion


@dataclass(frozen=True, slots=True)
class ReviewProblem:
    """What a reviewer should look at: the finding's name, a sentence, the field, and proposals, best first.

    A `warning` stays with the text, and has to be accepted by name if the text is kept as it is.
    """

    reason: str
    kind: str
    field: str
    message: str
    proposals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """An item as a reviewer is shown it: source and translation of each text, and its problems.

    `names` says what a text is where its field does not: a candidate's role.
    `shown` goes back with the decision, so that nobody decides on a text that was changed meanwhile; `decided` is the
    reviewer's own decision that stands, `questions` are their own about the item, with the answers.
    """

    item: str
    part: str
    subject: str
    source: dict[str, str]
    texts: dict[str, str]
    problems: tuple[ReviewProblem, ...]
    shown: str
    decided: ReviewDecision | None = None
    questions: tuple[ReviewQuestion, ...] = ()
    names: Mapping[str, str] = dataclass_field(default_factory=dict)

    def name_of(self, field: str) -> str:
        """A field in plain words.

        >>> view = ReviewItem("i", "", "", {}, {}, (), "", names={"candidates[1].word": "unrelated"})
        >>> view.name_of("candidates[1].word"), view.name_of("target_term")
        ('unrelated', 'target term')
        """
        return self.names.get(field, format_field(field))


def format_field(field: str) -> str:
    """A field of a form in plain words.

    >>> format_field("target_term"), format_field("candidates[1].id")
    ('target term', 'candidates 2, id')
    """
    for number in range(20):
        field = field.replace(f"[{number}].", f" {number + 1}, ").replace(f"[{number}]", f" {number + 1}")
    return field.replace("_", " ").replace(".", ", ")


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """An item in the queue: its state, why it is there, how many people decided, and how many have it in hand."""

    item: str
    part: str
    subject: str
    state: ReviewState
    reasons: tuple[str, ...]
    decisions: int
    in_hand: int


@dataclass(frozen=True, slots=True)
class ReviewConflict:
    """An item on which reviewers do not agree, with all their decisions."""

    item: ReviewItem
    decisions: tuple[ReviewDecision, ...]

    @property
    def seen(self) -> str:
        """Identifies the texts and decisions; it goes back with an adjudication, as `shown` does with a decision."""
        content = [self.item.shown, *(str(decision.number) for decision in self.decisions)]
        return hashlib.sha256(" ".join(content).encode()).hexdigest()[:16]


class ConflictChangedError(UsageError):
    """The decisions on an item are not those that an adjudicator was shown."""

    def __init__(self, item: str) -> None:
        super().__init__(f"The decisions on {item} changed since they were shown, so nothing is stored; look again.")


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """Items of the queue by state, and for each reviewer the items decided and those still to decide."""

    states: dict[ReviewState, int]
    reviewers: dict[str, tuple[int, int]]


def get_proposal_text(view: ReviewItem, field: str, number: int) -> str:
    """The proposal with this number for a field, counted from 1."""
    proposals = [text for problem in view.problems if problem.field == field for text in problem.proposals]
    proposals = list(dict.fromkeys(proposals))
    if not 1 <= number <= len(proposals):
        raise UsageError(f"{view.item} has {len(proposals)} proposals for {field}; there is no number {number}.")
    return proposals[number - 1]


def validate_texts(view: ReviewItem, changes: Mapping[str, str]) -> None:
    """Refuse texts that an item does not have, that are empty, or that have lost or doubled a blank."""
    for field, text in changes.items():
        if field not in view.source:
            raise UsageError(f"{view.item} has no text {field!r}, only {', '.join(view.source)}.")
        if not text.strip():
            raise UsageError(f"The text {view.name_of(field)} of {view.item} would be empty.")
        blanks = view.source[field].count(BLANK)
        if text.count(BLANK) != blanks:
            raise UsageError(
                f"The text {view.name_of(field)} of {view.item} has {BLANK} {text.count(BLANK)} times, and its source "
                f"{blanks} times."
            )
