"""The open problems of a project: unsettled repair findings, and validation findings that nobody has accepted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.validation import validate_records
from tiltmeter.datasets.validation_findings import Finding
from tiltmeter.forms import Item, get_item_form
from tiltmeter.making.draft import group_by_item
from tiltmeter.making.item_makers import ItemRejection
from tiltmeter.making.project import Project, parse_item
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.review.review_outcomes import compute_outcome

# Maximum number of validation results that an open project caches; each result is about one item.
_CACHE_SIZE = 1000

ProblemKind = Literal["error", "warning", "proposed", "open"]


@dataclass(frozen=True, slots=True)
class OpenProblem:
    """A problem of an item that a person has to settle.

    `step` is the step that found the problem. `reason` is the name of the problem, such as the code of a validation
    finding, and `message` explains the problem. `in_source` is true if the source item also has the validation finding.
    """

    item: str
    part: str
    subject: str
    step: str
    reason: str
    kind: ProblemKind
    field: str
    message: str
    proposals: tuple[str, ...] = ()
    in_source: bool = False


@dataclass(frozen=True, slots=True)
class AssembledItems:
    """The translated items of a project, and their open problems.

    `rejected` maps the id of each item that could not be built to the reason.
    """

    items: list[Item]
    rejected: dict[str, str]
    problems: list[OpenProblem]
    # Validation findings that a person accepted, with the person's name and reason.
    accepted: list[tuple[Finding, str, str]]


def assemble_items(project: Project, only: str | None = None, *, for_review: bool = False) -> AssembledItems:
    """Build items from the current translations, and collect their open problems.

    If `only` is the id of an item, only this item is built. With `for_review`, missing and conflicting decisions are
    not reported, and items are not compared with their source.
    """
    chosen = project.store.list_items() if only is None else [project.store.get_item(only)]
    entries = [entry for entry in chosen if entry.stage != "source"]
    sources = {entry.id: parse_item(entry.source) for entry in entries}
    texts = project.store.list_texts("text", only)
    items: list[Item] = []
    rejected: dict[str, str] = {}
    for entry in entries:
        made = project.maker.assemble(sources[entry.id], project.settings.language, texts.get(entry.id, {}))
        if isinstance(made, ItemRejection):
            rejected[entry.id] = made.reason
        else:
            items.append(made)
    by_id = {entry.id: entry for entry in entries}
    findings = examine_items(items)
    compared = () if for_review else sources.values()
    in_source = {(finding.item, finding.code) for finding in examine_items(compared)}
    by = project.store.list_accepted_problems()
    problems = _read_stored_problems(project, by_id, only)
    if not for_review:
        problems += _find_review_problems(project, entries)
    # A repair finding replaces the validation finding with the same name, because the repair finding has proposals.
    known = {(problem.item, problem.reason) for problem in problems}
    accepted: list[tuple[Finding, str, str]] = []
    for finding in findings:
        if (key := (finding.item, finding.code)) in by:
            accepted.append((finding, *by[key]))
        elif key not in known:
            problems.append(_build_problem(finding, by_id[finding.item], in_source=key in in_source))
    return AssembledItems(items, rejected, problems, accepted)


def examine_items(items: Iterable[Item]) -> list[Finding]:
    """Return the findings that `tiltmeter data validate` would report for a file with these items."""
    records = []
    for item in items:
        read = get_item_form(item).from_json(get_item_form(item).write(item))
        records.append(RawRecord(f"item {item.id}", read.values, read.names, list(read.problems)))
    return validate_records("", records).findings if records else []


def examine_texts(project: Project, entry: ProjectItem, texts: Mapping[str, str]) -> list[Finding]:
    """Return the validation findings that an item would have with the translations `texts`; cache the findings."""
    key = (entry.source, *texts.items())
    if (known := project.examined.get(key)) is None:
        if len(project.examined) >= _CACHE_SIZE:
            project.examined.clear()
        known = project.examined[key] = _validate_texts(project, entry, texts)
    return known


def _validate_texts(project: Project, entry: ProjectItem, texts: Mapping[str, str]) -> list[Finding]:
    made = project.maker.assemble(project.get_source_item(entry), project.settings.language, texts)
    if isinstance(made, ItemRejection):
        return [Finding("error", "not-an-item", "", f"item {entry.id}", "", entry.id, made.reason)]
    return examine_items([made])


def count_open_items(problems: Sequence[OpenProblem]) -> dict[tuple[str, str, str], int]:
    """Return a dictionary from part, reason and subject to the number of items that have such a problem."""
    unique = {(problem.item, problem.part, problem.reason, problem.subject) for problem in problems}
    return dict(Counter((part, reason, subject) for _, part, reason, subject in unique))


def _read_stored_problems(project: Project, entries: dict[str, ProjectItem], only: str | None) -> list[OpenProblem]:
    problems = []
    for stored in project.store.list_findings(only, ("proposed", "open")):
        finding = stored.finding
        if stored.closed_by is None and finding.item in entries:
            entry = entries[finding.item]
            problems.append(
                OpenProblem(
                    item=entry.id,
                    part=entry.part,
                    subject=entry.subject,
                    step=stored.step,
                    reason=finding.rule,
                    kind="proposed" if finding.kind == "proposed" else "open",
                    field=finding.field,
                    message=finding.reason,
                    proposals=finding.proposals,
                )
            )
    return problems


def _find_review_problems(project: Project, entries: Sequence[ProjectItem]) -> Iterator[OpenProblem]:
    """Return a problem for each item on which reviewers disagree.

    If the setting `review` is "all", also return a problem for each item without enough decisions.
    """
    decisions = group_by_item(project.store.list_decisions())
    messages = {"review-conflict": "the reviewers disagree", "not-reviewed": "too few reviewers have decided"}
    for entry in entries:
        state = compute_outcome(project, entry, decisions.get(entry.id, ())).state
        reason = "review-conflict" if state == "conflict" else "not-reviewed"
        if state == "conflict" or (state == "open" and project.settings.review == "all"):
            yield OpenProblem(entry.id, entry.part, entry.subject, "review", reason, "open", "", messages[reason])


def _build_problem(finding: Finding, entry: ProjectItem, *, in_source: bool) -> OpenProblem:
    return OpenProblem(
        item=entry.id,
        part=entry.part,
        subject=entry.subject,
        step="validate",
        reason=finding.code,
        kind=finding.severity,
        field=finding.field,
        message=finding.message,
        in_source=in_source,
    )
