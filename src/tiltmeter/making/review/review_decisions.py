"""An item as a reviewer is shown it, and the decision on it, if it can be made."""

from collections.abc import Mapping, Sequence

from tiltmeter.errors import UsageError
from tiltmeter.forms import get_item_form
from tiltmeter.making.open_problems import OpenProblem, examine_texts
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.review.review_outcomes import compute_shown_id, get_unreviewed_texts
from tiltmeter.making.review.review_rule import VERDICTS, ReviewDecision, ReviewVerdict
from tiltmeter.making.review.review_views import ReviewItem, ReviewProblem, get_proposal_text, validate_texts


def build_review_item(
    project: Project, entry: ProjectItem, reviewer: str, problems: Sequence[OpenProblem] = ()
) -> ReviewItem:
    """An item as a reviewer is shown it; `problems` are those found in all items together."""
    texts = get_unreviewed_texts(project, entry.id)
    item = project.get_source_item(entry)
    wanted = project.maker.wanted(item)
    source = {text.field: text.text for text in wanted if text.role != "filled"}
    own = [decision for decision in project.store.decisions(entry.id) if decision.reviewer == reviewer]
    return ReviewItem(
        item=entry.id,
        part=entry.part,
        subject=entry.subject,
        source=source,
        texts={field: texts.get(field, "") for field in source},
        problems=tuple(_list_shown_problems(project, entry, texts, problems)),
        shown=compute_shown_id(entry, texts),
        decided=own[-1] if own else None,
        questions=tuple(asked for asked in project.store.questions(entry.id) if asked.reviewer == reviewer),
        names=get_item_form(item).text_names(item),
    )


def _list_shown_problems(
    project: Project, entry: ProjectItem, texts: dict[str, str], found_in_all: Sequence[OpenProblem]
) -> list[ReviewProblem]:
    """The problems of an item before the review; that others settled them is not shown."""
    applied = project.store.get_applied(entry.id)
    settled = set(applied.findings) if applied else set()
    problems = []
    for stored in project.store.findings(entry.id, ("proposed", "open")):
        if stored.closed_by is None or stored.number in settled:
            found = stored.finding
            problems.append(ReviewProblem(found.rule, found.kind, found.field, found.reason, found.proposals))
    known = {problem.reason for problem in problems}
    before = _find_accepted_codes(project, entry.id)
    for problem in (*_validate_texts(project, entry, texts), *_find_repetitions(found_in_all)):
        if problem.reason not in known | before:
            problems.append(problem)
    return problems


def _find_accepted_codes(project: Project, item: str) -> set[str]:
    """The codes of findings about an item that were accepted otherwise than by its review."""
    applied = project.store.get_applied(item)
    return {code for _, code in project.store.list_accepted_problems(item)} - set(applied.accepted if applied else ())


def _validate_texts(project: Project, entry: ProjectItem, texts: Mapping[str, str]) -> list[ReviewProblem]:
    """What validation finds in an item with these texts."""
    return [
        ReviewProblem(finding.code, finding.severity, finding.field, finding.message)
        for finding in examine_texts(project, entry, texts)
    ]


def _find_repetitions(problems: Sequence[OpenProblem]) -> list[ReviewProblem]:
    """Validation findings that concern several items."""
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
    """The decision, if it can be made."""
    if verdict not in VERDICTS:
        raise UsageError(f"{verdict!r} is not a verdict; choose {', '.join(VERDICTS)}.")
    item, view = entry.id, build_review_item(project, entry, reviewer, problems)
    if shown is not None and shown != view.shown:
        raise UsageError(f"{item} was changed since it was shown; look at it again.")
    if verdict == "drop":
        return ReviewDecision(item, reviewer, "drop", shown=view.shown)
    changes = {**texts, **{field: get_proposal_text(view, field, number) for field, number in proposals.items()}}
    if verdict == "accept" and any(view.texts.get(field) != text for field, text in changes.items()):
        raise UsageError(f"New texts of {item} come with the verdict edit, not with accept.")
    validate_texts(view, changes)
    result = {**view.texts, **changes}
    _reject_invalid(project, view, result, accepted, problems)
    final: ReviewVerdict = "accept" if result == view.texts else "edit"
    return ReviewDecision(item, reviewer, final, result, dict(accepted), shown=view.shown)


def find_unsettled(
    project: Project, view: ReviewItem, texts: Mapping[str, str], problems: Sequence[OpenProblem]
) -> list[ReviewProblem]:
    """What validation finds in an item with these texts, less the warnings that were accepted before the review.

    Those that other reviewers accept count for nobody else, and nobody learns of them.
    """
    found = _validate_texts(project, project.store.item(view.item), texts)
    if texts == view.texts:
        found += _find_repetitions(problems)
    settled = _find_accepted_codes(project, view.item)
    return [problem for problem in found if problem.kind == "error" or problem.reason not in settled]


def _reject_invalid(
    project: Project,
    view: ReviewItem,
    texts: dict[str, str],
    accepted: Mapping[str, str],
    problems: Sequence[OpenProblem],
) -> None:
    """Refuse to keep an invalid item, or one with warnings that are not accepted with a reason."""
    found = find_unsettled(project, view, texts, problems)
    if errors := [problem for problem in found if problem.kind == "error"]:
        raise UsageError(f"{view.item} cannot be kept like this: {errors[0].message}. Edit or drop it.")
    if left := [problem for problem in found if problem.reason not in accepted]:
        raise UsageError(
            f"{view.item} would have the warning {left[0].reason} ({left[0].message}): edit or drop it, or accept "
            f"the finding {left[0].reason} with a reason."
        )
    if unreasoned := [code for code, why in accepted.items() if not why.strip()]:
        raise UsageError(f"The finding {unreasoned[0]} of {view.item} is accepted with a reason only.")
