"""The data that reviewers and adjudicators see (items, queue, conflicts, progress), and checks of new texts."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from tiltmeter.errors import UsageError
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewState
from tiltmeter.making.review.review_tables import ReviewQuestion

# Maximum number of characters of an item's title, and the number of words from which a text counts as a sentence.
LONGEST_TITLE = 120
_SENTENCE = 3


@dataclass(frozen=True, slots=True)
class ReviewProblem:
    """A problem of an item: the name of the finding (`reason`), its kind, the field, a message, and proposed texts.

    The best proposal comes first. If the text is not changed, a problem of the kind `warning` must be accepted with a
    reason.
    """

    reason: str
    kind: str
    field: str
    message: str
    proposals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """An item as a reviewer sees it: the source and translation of each text, and the problems of the item.

    `shown` is a digest of the texts. It is sent back with the decision, so that changes of the texts are detected.
    `decided` is the reviewer's current decision, and `questions` are the reviewer's questions about the item. `names`
    maps fields to their display names.
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

    @property
    def title(self) -> str:
        """The first text of the item that is a sentence, shortened; the source text if the translation is missing.

        >>> view = ReviewItem("4f1a", "", "", {"target_term": "cook", "context": "He was BLANK."}, {}, (), "")
        >>> view.title
        'He was BLANK.'
        """
        return choose_title(self.source, self.texts)

    def field_name(self, field: str) -> str:
        """Return the display name of a field of the item.

        >>> view = ReviewItem("i", "", "", {}, {}, (), "", names={"candidates[1].word": "unrelated"})
        >>> view.field_name("candidates[1].word"), view.field_name("target_term")
        ('unrelated', 'target term')
        """
        return self.names.get(field, format_field(field))


def choose_title(source: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """Return the title of an item: its first text that is a sentence, shortened; the source if it is not translated."""
    sentences = (field for field, text in source.items() if len(text.split()) >= _SENTENCE)
    field = next(sentences, next(iter(source), ""))
    title = " ".join((texts.get(field, "").strip() or source.get(field, "")).split())
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1].rstrip()}…"


def format_field(field: str) -> str:
    """Return the name of a form's field in plain words, with list positions counted from 1.

    >>> format_field("target_term"), format_field("candidates[1].id")
    ('target term', 'candidates 2, id')
    """
    counted = re.sub(r"\[(\d+)\]", lambda match: f" {int(match[1]) + 1}", field)
    return counted.replace("_", " ").replace(".", ", ")


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """An item in the queue: its state, the reasons for the review, the number of decisions, and the estimated quality.

    The queue begins with the items of the lowest quality.
    """

    item: str
    part: str
    subject: str
    state: ReviewState
    reasons: tuple[str, ...]
    decisions: int
    quality: float = 1.0


@dataclass(frozen=True, slots=True)
class ReviewConflict:
    """An item on which reviewers disagree, with all decisions on the item."""

    item: ReviewItem
    decisions: tuple[ReviewDecision, ...]

    @property
    def digest(self) -> str:
        """A digest of the texts and decisions. It is sent back with the adjudication, so that changes are detected."""
        content = [self.item.shown, *(str(decision.number) for decision in self.decisions)]
        return hashlib.sha256(" ".join(content).encode()).hexdigest()[:16]


class ConflictChangedError(UsageError):
    """The decisions on an item have changed since the adjudicator saw them."""

    def __init__(self, item: str) -> None:
        super().__init__(
            f"The decisions on the item {item} have changed since you opened it; nothing was stored. Open the item "
            "again."
        )


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """The number of items in each state, and the numbers of decided and remaining items of each reviewer.

    `missing` is the number of decisions that are missing.
    """

    states: dict[ReviewState, int]
    reviewers: dict[str, tuple[int, int]]
    missing: int = 0


def get_proposal_text(view: ReviewItem, field: str, number: int) -> str:
    """Return the text of a proposal for a field; `number` is counted from 1."""
    proposals = [text for problem in view.problems if problem.field == field for text in problem.proposals]
    proposals = list(dict.fromkeys(proposals))
    if not 1 <= number <= len(proposals):
        raise UsageError(f"{view.item} has no proposal {number} for {field}; it has {len(proposals)}.")
    return proposals[number - 1]


def validate_texts(view: ReviewItem, changes: Mapping[str, str]) -> None:
    """Raise a UsageError if the new texts have an unknown field, an empty text, or a wrong number of blanks."""
    for field, text in changes.items():
        if field not in view.source:
            raise UsageError(f"{view.item} has no text {field!r}, only {', '.join(view.source)}.")
        if not text.strip():
            raise UsageError(
                f"The text {view.field_name(field)} of {view.item} is empty; write a text, or drop the item."
            )
        blanks = view.source[field].count(BLANK)
        if text.count(BLANK) != blanks:
            raise UsageError(
                f"The text {view.field_name(field)} of {view.item} contains {BLANK} {text.count(BLANK)} times, but its "
                f"source text contains it {blanks} times."
            )
