"""What the page of one item shows a reviewer: nothing in it depends on what others decided."""

from collections.abc import Mapping
from dataclasses import dataclass

from tiltmeter.datasets.findings import list_error_codes, list_warning_codes
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_marks import (
    MarkedPiece,
    NumberedProposal,
    mark_changes,
    mark_texts,
    number_proposals,
)
from tiltmeter.making.review.review_rule import ReviewDecision
from tiltmeter.making.review.review_tables import ReviewQuestion
from tiltmeter.making.review.review_views import ReviewItem


@dataclass(frozen=True, slots=True)
class ReviewText:
    """A text of an item: its name, source and translation in marked pieces, and as the reviewer has decided it."""

    field: str
    name: str
    source: list[MarkedPiece]
    shown: list[MarkedPiece]
    text: str
    now: str
    proposals: list[tuple[NumberedProposal, list[MarkedPiece]]]


@dataclass(frozen=True, slots=True)
class ReviewReason:
    """Why an item is in the queue: a sentence, the finding's name with its meaning, and the text that it is about."""

    code: str
    sentence: str
    meaning: str
    about: str


@dataclass(frozen=True, slots=True)
class NeededReason:
    """A warning that has to be accepted with a reason if the item is kept; `why` is what the reviewer gave before."""

    code: str
    sentence: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """An item, and how far the reviewer has come; `known` counts their decisions on it, withdrawn ones included."""

    item: str
    part: str
    subject: str
    shown: str
    known: int
    texts: list[ReviewText]
    reasons: list[ReviewReason]
    needed: list[NeededReason]
    questions: tuple[ReviewQuestion, ...]
    decided: ReviewDecision | None
    done: int
    left: int


def build_review_page(review: Review, reviewer: str, view: ReviewItem) -> ReviewPage:
    """The page of an item for a reviewer."""
    sources, texts, proposals = mark_texts(view.source), mark_texts(view.texts), number_proposals(view)
    own = view.decided if view.decided and view.decided.shown == view.shown else None
    now = {**view.texts, **(own.texts if own else {})}
    rows = [
        ReviewText(
            field,
            view.name_of(field),
            sources[field],
            texts[field],
            view.texts[field],
            now[field],
            [(one, mark_changes(view.texts[field], one.text)) for one in proposals if one.field == field],
        )
        for field in view.source
    ]
    meanings = {**list_error_codes(), **list_warning_codes()}
    reasons = [
        ReviewReason(
            problem.reason, _to_sentence(problem.message), meanings.get(problem.reason, ""), view.name_of(problem.field)
        )
        for problem in view.problems
    ]
    given = dict(own.accepted) if own else {}
    found = review.find_unsettled(view, now) if _is_complete(view, now) else []
    needed = [
        NeededReason(problem.reason, _to_sentence(problem.message), given.get(problem.reason, ""))
        for problem in found
        if problem.kind == "warning"
    ]
    done, left = review.count_progress(reviewer)
    return ReviewPage(
        item=view.item,
        part=view.part,
        subject=view.subject,
        shown=view.shown,
        known=len(review.list_own_decisions(reviewer, view.item)),
        texts=rows,
        reasons=reasons,
        needed=needed,
        questions=view.questions,
        decided=own,
        done=done,
        left=left,
    )


def _is_complete(view: ReviewItem, texts: Mapping[str, str]) -> bool:
    """Whether texts can be checked at all: all there, and none empty."""
    return all(texts.get(field, "").strip() for field in view.source)


def _to_sentence(message: str) -> str:
    """A message as a sentence."""
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith(('.', '!', '?')) else '.'}"
