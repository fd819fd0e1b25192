"""The step `repair` of a project: run the repair steps on its drafts, and store changes and findings."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.errors import UsageError
from tiltmeter.making.draft import Draft, FindingKind, RepairFinding, counts
from tiltmeter.making.item_makers import GENDERED_PAIRS
from tiltmeter.making.lock import step_lock
from tiltmeter.making.name_lists import name_findings
from tiltmeter.making.problems import assemble
from tiltmeter.making.project import Project, check_translated
from tiltmeter.making.repair import STEPS, repair
from tiltmeter.making.step_end import end_step
from tiltmeter.making.store import ProjectItem
from tiltmeter.translators.word_alignment import Eflomal

# Items per transaction.
_BATCH = 100


@dataclass(frozen=True, slots=True)
class RepairSummary:
    """What a run of the step did: findings by rule and kind, items dropped by reason."""

    items: int
    findings: Counter[tuple[str, FindingKind]]
    dropped: Counter[str]
    aligner: str
    pairs: int
    seconds: float


def repair_project(
    project: Project, *, steps: Sequence[str] = tuple(STEPS), aligner: Eflomal | None = None
) -> RepairSummary:
    """Repair all translated items that nobody has reviewed; those of gendered pairs are filtered instead."""
    check_translated(project)
    with step_lock(project.folder):
        return _run(project, steps, aligner)


def _run(project: Project, steps: Sequence[str], aligner: Eflomal | None) -> RepairSummary:
    began = time.monotonic()
    decided = project.store.decided_items()
    entries = [entry for entry in project.store.items() if entry.stage in ("translated", "repaired")]
    entries = [entry for entry in entries if entry.id not in decided]
    if not entries:
        raise UsageError("There is no translated item to repair; `tiltmeter make translate` comes first.")
    if project.settings.makes == GENDERED_PAIRS:
        summary = _filter_pairs(project, entries, began)
    else:
        summary = _repair(project, entries, steps, aligner, began)
    facts = {
        "items": summary.items,
        "findings": [[rule, kind, count] for (rule, kind), count in sorted(summary.findings.items())],
        "dropped": dict(summary.dropped),
        "aligner": summary.aligner,
        "aligned_pairs": summary.pairs,
        "seconds": round(summary.seconds, 1),
    }
    end_step(project, "repair", facts)
    return summary


def _repair(
    project: Project, entries: Sequence[ProjectItem], steps: Sequence[str], aligner: Eflomal | None, began: float
) -> RepairSummary:
    drafts = [draft for draft in project.drafts(entries) if _is_complete(draft)]
    repaired = repair(drafts, steps=steps, aligner=aligner)
    findings = list(repaired.findings)
    if project.settings.names:
        findings += [finding for draft in repaired.drafts for finding in name_findings(draft)]
    by_item: dict[str, list[RepairFinding]] = {draft.item: [] for draft in drafts}
    for finding in findings:
        by_item[finding.item].append(finding)
    items = list(by_item.items())
    versions = {entry.id: entry.version for entry in entries}
    for start in range(0, len(items), _BATCH):
        with project.store.transaction():
            for item, own in items[start : start + _BATCH]:
                # What people decided on or changed meanwhile is left as it is.
                if project.store.item(item).version == versions[item] and not any(project.store.decisions(item)):
                    _write(project, item, own)
    return RepairSummary(
        len(drafts),
        counts(findings),
        Counter(),
        repaired.aligner,
        repaired.pairs,
        time.monotonic() - began,
    )


def _is_complete(draft: Draft) -> bool:
    return all(field in draft.texts for field in draft.source)


def _write(project: Project, item: str, findings: Sequence[RepairFinding]) -> None:
    for finding in findings:
        if finding.kind == "changed":
            project.store.set_text(
                item, "text", finding.field, finding.after, step="repair", by=finding.rule, why=finding.reason
            )
    project.store.replace_findings(item, "repair", findings)
    project.store.set_stage(item, "repaired")


def _filter_pairs(project: Project, entries: Sequence[ProjectItem], began: float) -> RepairSummary:
    """Drop the items whose translations are not a pair, by the filters of GEST's authors."""
    assembled = assemble(project)
    repeated = {problem.item: problem.message for problem in assembled.problems if problem.reason == "duplicate-pair"}
    reasons = {**assembled.rejected, **dict.fromkeys(repeated, "an earlier pair is the same")}
    for start in range(0, len(entries), _BATCH):
        with project.store.transaction():
            for entry in entries[start : start + _BATCH]:
                if project.store.item(entry.id).version != entry.version or any(project.store.decisions(entry.id)):
                    continue
                if entry.id in reasons:
                    project.store.drop(entry.id, step="repair", by="the filters of GEST", why=reasons[entry.id])
                else:
                    project.store.set_stage(entry.id, "repaired")
    return RepairSummary(len(entries), Counter(), Counter(reasons.values()), "", 0, time.monotonic() - began)
