"""Store decisions and apply their outcome to items, inside the caller's transaction.

The outcome of an item may change because a decision is withdrawn or contradicted. Then the earlier outcome is reverted
before the new outcome is applied.
"""

import hashlib
import json
from collections.abc import Iterable

from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewOutcome, ReviewRule, settle_decisions
from tiltmeter.making.review.review_tables import AppliedOutcome

REVIEW = "the review"
# The reason that is stored with an item that reviewers dropped. Their comments are stored with the decisions.
DROPPED = "reviewers dropped it"
# The name under which the project stores the review rule that was used for the applied outcomes.
_RULE = "review rule"


def get_review_rule(project: Project) -> ReviewRule:
    """Return the review rule of a project: how many reviewers decide on an item, and how many of them must agree."""
    return ReviewRule(project.settings.agreeing, project.settings.reviewers_per_item)


def find_reviewer_name(project: Project, name: str) -> str:
    """Return the stored spelling of a reviewer's name, ignoring letter case; a new name is returned as it is."""
    known = {known.casefold(): known for known in project.store.list_reviewer_names()}
    return known.get(name.strip().casefold(), name.strip())


def apply_changed_rule(project: Project) -> None:
    """If the review rule in `project.toml` has changed, compute and apply the outcomes of all items again."""
    rule = str(get_review_rule(project))
    if project.store.get_stored_values().get(_RULE) == rule:
        return
    with project.store.begin_transaction():
        for item in project.store.list_decided_items():
            apply_outcome(project, item)
        project.store.store_values({_RULE: rule})


def get_unreviewed_texts(project: Project, item: str) -> dict[str, str]:
    """Return the texts of an item from before the review changed them; all reviewers see these texts."""
    applied = project.store.get_applied_outcome(item)
    return applied.texts if applied else project.store.list_texts("text", item).get(item, {})


def compute_content_digest(entry: ProjectItem, texts: dict[str, str]) -> str:
    """Return a digest of an item's source and texts, to detect whether they have changed since a reviewer saw them."""
    content = json.dumps([entry.source, texts], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def compute_outcome(project: Project, entry: ProjectItem, decisions: Iterable[ReviewDecision]) -> ReviewOutcome:
    """Return the outcome of the decisions on an item; ignore decisions that were made before its texts changed."""
    return settle_decisions(select_current_decisions(project, entry, decisions), get_review_rule(project))


def select_current_decisions(
    project: Project, entry: ProjectItem, decisions: Iterable[ReviewDecision]
) -> list[ReviewDecision]:
    """Return the decisions on the current texts of an item; changes that the review itself has made do not count."""
    known = list(decisions)
    return select_decisions_on(entry, get_unreviewed_texts(project, entry.id), known) if known else []


def select_decisions_on(
    entry: ProjectItem, texts: dict[str, str], decisions: Iterable[ReviewDecision]
) -> list[ReviewDecision]:
    """Return the decisions whose reviewers saw `texts`, which are the texts of the item before the review."""
    current = compute_content_digest(entry, texts)
    return [decision for decision in decisions if decision.shown == current]


def is_own_conflict(project: Project, entry: ProjectItem, person: str) -> bool:
    """Return whether a person has decided on the current texts of an item, which includes withdrawn decisions."""
    known = project.store.list_decisions(entry.id, undone=True)
    current = select_decisions_on(entry, get_unreviewed_texts(project, entry.id), known)
    return any(one.reviewer.casefold() == person.casefold() and not one.adjudicates for one in current)


def list_drop_reasons(project: Project) -> dict[str, str]:
    """Return a dictionary from the ids of dropped items to the reasons, with the comments of the reviewers.

    Earlier versions of Tiltmeter stored the comments as the reason.
    """
    reasons = {}
    for entry in project.store.list_items(dropped=True):
        comments: Iterable[str] = ()
        if entry.dropped == DROPPED:
            outcome = compute_outcome(project, entry, project.store.list_decisions(entry.id))
            comments = dict.fromkeys(decision.comment for decision in outcome.settled_by if decision.comment)
        reasons[entry.id] = "; ".join(comments) or str(entry.dropped)
    return reasons


def record_decision(project: Project, decision: ReviewDecision, known: int | None = None) -> ReviewOutcome:
    """Store a decision; apply and return the outcome of all decisions on the item.

    `ReviewTables.add_decision` explains `known`.
    """
    project.store.add_decision(decision, known)
    project.store.free_slots(decision.item, decision.reviewer)
    return apply_outcome(project, decision.item)


def apply_outcome(project: Project, item: str) -> ReviewOutcome:
    """Apply the outcome of the decisions on an item, if it is not already applied; return the outcome."""
    entry = project.store.get_item(item)
    outcome = compute_outcome(project, entry, project.store.list_decisions(item))
    applied = project.store.get_applied_outcome(item)
    key = _compute_outcome_id(outcome)
    if (applied.outcome if applied else "") == key:
        return outcome
    if applied:
        _undo_outcome(project, entry, applied)
    if outcome.settled_by:
        _write_outcome(project, project.store.get_item(item), outcome, key)
    return outcome


def _compute_outcome_id(outcome: ReviewOutcome) -> str:
    """Return a text that identifies the effect of an outcome on the item; empty if the outcome has no effect."""
    if not outcome.settled_by:
        return ""
    first = outcome.settled_by[0]
    names = [decision.reviewer for decision in outcome.settled_by]
    content = [first.verdict == "drop", dict(first.texts), names, sorted(_collect_accepted_findings(outcome).items())]
    return json.dumps(content, ensure_ascii=False, sort_keys=True)


def _collect_accepted_findings(outcome: ReviewOutcome) -> dict[str, tuple[str, str]]:
    """Return, by code of validation finding, the first person who accepted the finding, and the reason."""
    accepted: dict[str, tuple[str, str]] = {}
    for decision in outcome.settled_by:
        for code, why in decision.accepted.items():
            accepted.setdefault(code, (decision.reviewer, why))
    return accepted


def _write_outcome(project: Project, entry: ProjectItem, outcome: ReviewOutcome, key: str) -> None:
    store, first = project.store, outcome.settled_by[0]
    before = store.list_texts("text", entry.id).get(entry.id, {})
    names = ", ".join(decision.reviewer for decision in outcome.settled_by)
    # The comments are not copied: they are stored once, with the decisions.
    why: str = outcome.state
    if first.adjudicates and is_own_conflict(project, entry, first.reviewer):
        why = f"{outcome.state} by a person who had decided on the item"
    if first.verdict == "drop":
        store.set_applied_outcome(entry.id, AppliedOutcome(key, entry.stage, before, [], []))
        store.drop_item(entry.id, step="review", by=names, why=DROPPED)
        return
    for field, text in first.texts.items():
        store.set_text(entry.id, "text", field, text, step="review", by=names, why=why)
    is_open = [
        stored.number for stored in store.list_findings(entry.id, ("proposed", "open")) if stored.closed_by is None
    ]
    store.close_findings(entry.id, by=names, why=why)
    accepted = _collect_accepted_findings(outcome)
    known = {code for _, code in store.list_accepted_problems(entry.id)}
    for code, (by, reason) in accepted.items():
        if code not in known:
            store.accept_problem(entry.id, code, by=by, why=reason)
    store.set_stage(entry.id, "reviewed")
    added = [code for code in accepted if code not in known]
    store.set_applied_outcome(entry.id, AppliedOutcome(key, entry.stage, before, is_open, added))


def _undo_outcome(project: Project, entry: ProjectItem, applied: AppliedOutcome) -> None:
    store, why = project.store, "the decisions changed"
    if entry.dropped is not None:
        store.restore_item(entry.id, step="review", by=REVIEW, why=why)
    for field, text in applied.texts.items():
        store.set_text(entry.id, "text", field, text, step="review", by=REVIEW, why=why)
    store.reopen_findings(entry.id, applied.findings, applied.accepted)
    store.set_stage(entry.id, "repaired" if applied.stage == "repaired" else "translated")
    store.set_applied_outcome(entry.id, None)
