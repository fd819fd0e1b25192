"""The step `repair` of a project: run all repair steps on the translated items, and store changes and findings."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

from tiltmeter.errors import UsageError
from tiltmeter.making.draft import FindingKind, RepairFinding, count_findings, group_by_item
from tiltmeter.making.item_makers import GENDERED_PAIRS
from tiltmeter.making.name_lists import RULE as NAMES_RULE
from tiltmeter.making.name_lists import find_name_errors
from tiltmeter.making.open_problems import assemble_items
from tiltmeter.making.project import Project, reject_written_project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.quality.untranslated_items import UntranslatedCounts, store_untranslated_findings
from tiltmeter.making.repair import STEPS, get_step_of_rule, repair_drafts
from tiltmeter.making.repair.proven_changes import update_proposals
from tiltmeter.making.repair.rule_precision import RulePrecision, read_project_precision
from tiltmeter.making.repair_stages import Counts, count_after_steps, encode_stages
from tiltmeter.making.step_completion import complete_step
from tiltmeter.translators.word_alignment import Eflomal

# Number of items that are stored in one transaction.
_BATCH = 100


@dataclass(frozen=True, slots=True)
class RepairSummary:
    """The result of the step `repair`: numbers of findings by rule and kind, and of dropped items by reason.

    `pairs` is the number of sentence pairs on which the word aligner was trained. `stages` has the numbers of items
    with open problems after each repair step. `untranslated` counts the items of the project with untranslated text.
    """

    items: int
    findings: Counter[tuple[str, FindingKind]]
    dropped: Counter[str]
    aligner: str
    pairs: int
    seconds: float
    stages: tuple[tuple[str, Counts], ...] = ()
    untranslated: UntranslatedCounts = field(default_factory=lambda: UntranslatedCounts(0, ()))


def repair_project(
    project: Project, *, steps: Sequence[str] = tuple(STEPS), aligner: Eflomal | None = None
) -> RepairSummary:
    """Repair all translated items without a review decision; gendered pairs are filtered instead of repaired.

    The findings of earlier runs are replaced, except open findings of steps that are not in `steps`.
    """
    reject_written_project(project)
    with lock_project(project.folder):
        return _run_step(project, steps, aligner)


def _run_step(project: Project, steps: Sequence[str], aligner: Eflomal | None) -> RepairSummary:
    began = time.monotonic()
    decided = project.store.list_decided_items()
    entries = [entry for entry in project.store.list_items() if entry.stage in ("translated", "repaired")]
    entries = [entry for entry in entries if entry.id not in decided]
    if not entries:
        raise UsageError("There is no translated item to repair; run `tiltmeter make translate` first.")
    _record_review(project)
    if project.settings.makes == GENDERED_PAIRS:
        summary = _filter_pairs(project, entries, began)
    else:
        summary = _repair_items(project, entries, steps, aligner, began)
    summary = replace(summary, untranslated=store_untranslated_findings(project))
    facts = {
        "items": summary.items,
        "findings": [[rule, kind, count] for (rule, kind), count in sorted(summary.findings.items())],
        "dropped": dict(summary.dropped),
        "aligner": summary.aligner,
        "aligned_pairs": summary.pairs,
        "seconds": round(summary.seconds, 1),
        "stages": encode_stages(summary.stages),
        "precision": [list(astuple(one)) for one in _read_precision(project).values()],
    }
    complete_step(project, "repair", facts)
    return summary


def _repair_items(
    project: Project, entries: Sequence[ProjectItem], steps: Sequence[str], aligner: Eflomal | None, began: float
) -> RepairSummary:
    drafts = [draft for draft in project.build_drafts(entries) if draft.source.keys() <= draft.texts.keys()]
    repaired = repair_drafts(drafts, steps=steps, aligner=aligner, precision=_read_precision(project))
    kept = _list_findings_of_other_steps(project, steps)
    stages = count_after_steps(project, repaired.steps, kept)
    findings = list(repaired.findings)
    if project.settings.names:
        findings += [finding for draft in repaired.drafts for finding in find_name_errors(draft)]
    items = {draft.item for draft in drafts}
    still_open = update_proposals(repaired.drafts, (finding for finding in kept if finding.item in items))
    by_item = group_by_item([*findings, *still_open])
    versions = {entry.id: entry.version for entry in entries}
    for start in range(0, len(drafts), _BATCH):
        with project.store.begin_transaction():
            for draft in drafts[start : start + _BATCH]:
                if not _is_changed(project, draft.item, versions[draft.item]):
                    _write_findings(project, draft.item, by_item.get(draft.item, ()))
    seconds = time.monotonic() - began
    counted = count_findings(findings)
    return RepairSummary(len(drafts), counted, Counter(), repaired.aligner, repaired.pairs, seconds, tuple(stages))


def _list_findings_of_other_steps(project: Project, steps: Sequence[str]) -> list[RepairFinding]:
    """Return the open findings of earlier runs whose repair steps are not in `steps`."""
    if set(steps) >= set(STEPS):
        return []
    return [
        stored.finding
        for stored in project.store.list_findings(None, ("proposed", "open"))
        if stored.step == "repair"
        and stored.closed_by is None
        and stored.finding.rule != NAMES_RULE
        and get_step_of_rule(stored.finding.rule) not in steps
    ]


def _read_precision(project: Project) -> Mapping[str, RulePrecision]:
    return read_project_precision(project.folder, project.settings.language)


def _record_review(project: Project) -> None:
    """Store the review as a completed step, if people have decided on items since the last step."""
    decisions = len(list(project.store.list_decisions()))
    known = [record.facts["decisions"] for record in project.store.list_steps() if "decisions" in record.facts]
    if decisions != (known[-1] if known else 0):
        complete_step(project, "review", {"decisions": decisions})


def _is_changed(project: Project, item: str, version: int) -> bool:
    """Tell whether somebody has changed the item or decided on it since the step began (at version `version`)."""
    return project.store.get_item(item).version != version or any(project.store.list_decisions(item))


def _write_findings(project: Project, item: str, findings: Sequence[RepairFinding]) -> None:
    for finding in findings:
        if finding.kind == "changed":
            project.store.set_text(
                item, "text", finding.field, finding.new_text, step="repair", by=finding.rule, why=finding.reason
            )
    project.store.replace_findings(item, "repair", findings)
    project.store.set_stage(item, "repaired")


def _filter_pairs(project: Project, entries: Sequence[ProjectItem], began: float) -> RepairSummary:
    """Drop the items whose two translations are rejected by the filters of GEST's authors or repeat an earlier pair."""
    assembled = assemble_items(project)
    repeated = {problem.item: problem.message for problem in assembled.problems if problem.reason == "duplicate-pair"}
    reasons = {**assembled.rejected, **dict.fromkeys(repeated, "an earlier pair is the same")}
    for start in range(0, len(entries), _BATCH):
        with project.store.begin_transaction():
            for entry in entries[start : start + _BATCH]:
                if _is_changed(project, entry.id, entry.version):
                    continue
                if entry.id in reasons:
                    project.store.drop_item(entry.id, step="repair", by="the filters of GEST", why=reasons[entry.id])
                else:
                    project.store.set_stage(entry.id, "repaired")
    return RepairSummary(len(entries), Counter(), Counter(reasons.values()), "", 0, time.monotonic() - began)
