"""Build the view of an item for a reviewer, and validate decisions on the item; `review_tables` stores decisions."""

from collections.abc import Mapping, Sequence

from tiltmeter.errors import UsageError
from tiltmeter.forms import get_item_form
from tiltmeter.making.open_problems import OpenProblem, examine_texts
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.review.review_outcomes import compute_content_digest, get_unreviewed_texts
from tiltmeter.making.review.review_rule import VERDICTS, ReviewDecision, ReviewVerdict
from tiltmeter.making.review.review_views import ReviewItem, ReviewProblem, get_proposal_text, validate_texts


def build_review_item(
    project: Project, entry: ProjectItem, reviewer: str, problems: Sequence[OpenProblem] = ()
) -> ReviewItem:
    """Return an item as a reviewer sees it; `problems` are the item's open problems in the review queue."""
    texts = get_unreviewed_texts(project, entry.id)
    item = project.get_source_item(entry)
    wanted = project.maker.list_texts_to_translate(item)
    source = {text.field: text.text for text in wanted if text.role != "filled"}
    own = [decision for decision in project.store.list_decisions(entry.id) if decision.reviewer == reviewer]
    return ReviewItem(
        item=entry.id,
        part=entry.part,
        subject=entry.subject,
        source=source,
        texts={field: texts.get(field, "") for field in source},
        problems=tuple(_list_shown_problems(project, entry, texts, problems)),
        shown=compute_content_digest(entry, texts),
        decided=own[-1] if own else None,
        questions=tuple(asked for asked in project.store.list_questions(entry.id) if asked.reviewer == reviewer),
        names=get_item_form(item).text_names(item),
    )


def _list_shown_problems(
    project: Project, entry: ProjectItem, texts: dict[str, str], open_problems: Sequence[OpenProblem]
) -> list[ReviewProblem]:
    """Return the problems that an item had before the review, including those that reviewers have settled since."""
    applied = project.store.get_applied_outcome(entry.id)
    settled = set(applied.findings) if applied else set()
    problems = []
    for stored in project.store.list_findings(entry.id, ("proposed", "open")):
        if stored.closed_by is None or stored.number in settled:
            finding = stored.finding
            problems.append(ReviewProblem(finding.rule, finding.kind, finding.field, finding.reason, finding.proposals))
    known = {problem.reason for problem in problems} | _find_accepted_codes(project, entry.id)
    candidates = (*_validate_texts(project, entry, texts), *_find_duplicates(open_problems))
    return [*problems, *(problem for problem in candidates if problem.reason not in known)]


def _find_accepted_codes(project: Project, item: str) -> set[str]:
    """Return the codes of validation findings that were accepted before the review."""
    applied = project.store.get_applied_outcome(item)
    return {code for _, code in project.store.list_accepted_problems(item)} - set(applied.accepted if applied else ())


def _validate_texts(project: Project, entry: ProjectItem, texts: Mapping[str, str]) -> list[ReviewProblem]:
    return [
        ReviewProblem(finding.code, finding.severity, finding.field, finding.message)
        for finding in examine_texts(project, entry, texts)
    ]


def _find_duplicates(problems: Sequence[OpenProblem]) -> list[ReviewProblem]:
    """Return the problems that are about duplicate items; the validation of a single item cannot detect them."""
    return [
        ReviewProblem(problem.reason, problem.kind, problem.field, problem.message)
        for problem in problems
        if problem.step == "validate" and problem.reason.startswith("duplicate")
    ]


def make_decision(
    project: Project,
    entry: ProjectItem,
    reviewer: str,
    verdict: ReviewVerdict,
    texts: Mapping[str, str],
    proposals: Mapping[str, int],
    accepted: Mapping[str, str],
    shown: str | None,
    problems: Sequence[OpenProblem] = (),
) -> ReviewDecision:
    """Return the decision of a reviewer on an item; raise a UsageError if the decision is invalid.

    `Review.decide_on_item` explains the parameters.
    """
    if verdict not in VERDICTS:
        raise UsageError(f"{verdict!r} is not a verdict; choose one of {', '.join(VERDICTS)}.")
    item, view = entry.id, build_review_item(project, entry, reviewer, problems)
    if shown is not None and shown != view.shown:
        raise UsageError(f"{item} has changed since you opened it; open it again.")
    if verdict == "drop":
        return ReviewDecision(item, reviewer, "drop", shown=view.shown)
    changes = {**texts, **{field: get_proposal_text(view, field, number) for field, number in proposals.items()}}
    if verdict == "accept" and any(view.texts.get(field) != text for field, text in changes.items()):
        raise UsageError(f"The texts of {item} were changed; use the verdict `edit` instead of `accept`.")
    validate_texts(view, changes)
    result = {**view.texts, **changes}
    _reject_invalid_texts(project, view, result, accepted, problems)
    final: ReviewVerdict = "accept" if result == view.texts else "edit"
    return ReviewDecision(item, reviewer, final, result, dict(accepted), shown=view.shown)


def find_unsettled_problems(
    project: Project, view: ReviewItem, texts: Mapping[str, str], problems: Sequence[OpenProblem]
) -> list[ReviewProblem]:
    """Return the validation problems that an item would have with the texts `texts`.

    Warnings that were accepted before the review are left out. Warnings that other reviewers accepted are included,
    because reviewers decide independently.
    """
    unsettled = _validate_texts(project, project.store.get_item(view.item), texts)
    if texts == view.texts:
        unsettled += _find_duplicates(problems)
    settled = _find_accepted_codes(project, view.item)
    return [problem for problem in unsettled if problem.kind == "error" or problem.reason not in settled]


def _reject_invalid_texts(
    project: Project,
    view: ReviewItem,
    texts: dict[str, str],
    accepted: Mapping[str, str],
    problems: Sequence[OpenProblem],
) -> None:
    """Raise a UsageError if an item with these texts is invalid or has warnings that are not accepted with a reason."""
    unsettled = find_unsettled_problems(project, view, texts, problems)
    if errors := [problem for problem in unsettled if problem.kind == "error"]:
        raise UsageError(f"The item {view.item} would be invalid: {errors[0].message}. Edit or drop the item.")
    if warnings := [problem for problem in unsettled if problem.reason not in accepted]:
        code = warnings[0].reason
        raise UsageError(
            f"The item {view.item} would have the warning {code} ({warnings[0].message}); edit or drop the item, or "
            f"accept the warning {code} with a reason."
        )
    if unreasoned := [code for code, why in accepted.items() if not why.strip()]:
        raise UsageError(f"The reason for accepting the warning {unreasoned[0]} of the item {view.item} is missing.")
