"""The page on which a reviewer decides on one item; decisions of other reviewers are not shown (blind review)."""

from collections.abc import Mapping
from dataclasses import dataclass

from tiltmeter.datasets.validation_findings import list_error_codes, list_warning_codes
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_marks import (
    MarkedPiece,
    NumberedProposal,
    mark_changes,
    mark_filled_sentences,
    mark_texts,
    number_proposals,
)
from tiltmeter.making.review.review_rule import ReviewDecision
from tiltmeter.making.review.review_tables import ReviewQuestion
from tiltmeter.making.review.review_views import ReviewItem, ReviewProblem


@dataclass(frozen=True, slots=True)
class ReviewText:
    """One text of an item on the review page.

    `source` and `translation` are split into pieces, some of which are marked; `text` is the translation without marks.
    `now` is the text in the form: the reviewer's own text, or the translation. `proposals` are texts that can replace
    the translation, each with the changed pieces. `reasons` are the problems of this text.
    """

    field: str
    name: str
    source: list[MarkedPiece]
    translation: list[MarkedPiece]
    text: str
    now: str
    proposals: list[tuple[NumberedProposal, list[MarkedPiece]]]
    reasons: "list[ReviewReason]"


@dataclass(frozen=True, slots=True)
class ReviewReason:
    """A problem that is a reason to review the item."""

    code: str
    sentence: str
    meaning: str


@dataclass(frozen=True, slots=True)
class NeededReason:
    """A warning about an item; a reviewer who keeps the item must give a reason (`why`, empty until it is given)."""

    code: str
    sentence: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """An item as the review page shows it, and the progress of the reviewer.

    `reasons` are the problems that are not about one text. `filled` has the context with each candidate word filled in.
    `shown` is a digest of the texts, and `decided` the reviewer's current decision on these texts. `known` is the
    number of the reviewer's decisions on the item, including withdrawn decisions. `done` is the number of items that
    the reviewer has decided on, and `left` the number of items that remain, which need about `hours_left` hours.
    """

    item: str
    title: str
    part: str
    subject: str
    shown: str
    known: int
    texts: list[ReviewText]
    reasons: list[ReviewReason]
    filled: list[tuple[str, list[MarkedPiece]]]
    needed: list[NeededReason]
    questions: tuple[ReviewQuestion, ...]
    decided: ReviewDecision | None
    done: int
    left: int
    hours_left: float | None


def build_review_page(review: Review, reviewer: str, view: ReviewItem) -> ReviewPage:
    """Build the review page of the item `view` for a reviewer."""
    sources, texts, proposals = mark_texts(view.source), mark_texts(view.texts), number_proposals(view)
    own = view.decided if view.decided and view.decided.shown == view.shown else None
    now = {**view.texts, **(own.texts if own else {})}
    rows = [
        ReviewText(
            field,
            view.field_name(field),
            sources[field],
            texts[field],
            view.texts[field],
            now[field],
            [(one, mark_changes(view.texts[field], one.text)) for one in proposals if one.field == field],
            [_build_reason(problem) for problem in view.problems if problem.field == field],
        )
        for field in view.source
    ]
    reasons = [_build_reason(problem) for problem in view.problems if problem.field not in view.source]
    given = dict(own.accepted) if own else {}
    is_complete = all(now.get(field, "").strip() for field in view.source)
    needed = [
        NeededReason(problem.reason, _to_sentence(problem.message), given.get(problem.reason, ""))
        for problem in (review.find_unsettled_problems(view, now) if is_complete else [])
        if problem.kind == "warning"
    ]
    done, left = review.count_progress(reviewer)
    return ReviewPage(
        item=view.item,
        title=view.title,
        part=view.part,
        subject=view.subject,
        shown=view.shown,
        known=len(review.list_own_decisions(reviewer, view.item)),
        texts=rows,
        reasons=reasons,
        filled=list_filled_sentences(view, now),
        needed=needed,
        questions=view.questions,
        decided=own,
        done=done,
        left=left,
        hours_left=review.forecast_hours(reviewer),
    )


def list_filled_sentences(view: ReviewItem, texts: Mapping[str, str]) -> list[tuple[str, list[MarkedPiece]]]:
    """Return the role of each candidate word, and the context with this word filled in."""
    return [(view.field_name(field), pieces) for field, pieces in mark_filled_sentences(texts).items()]


def _build_reason(problem: ReviewProblem) -> ReviewReason:
    meanings = {**list_error_codes(), **list_warning_codes()}
    return ReviewReason(problem.reason, _to_sentence(problem.message), meanings.get(problem.reason, ""))


def _to_sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith(('.', '!', '?')) else '.'}"
