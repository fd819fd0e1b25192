"""Repair of translated items: language-independent steps, then the rules of the language, each counted.

What is sure is changed; what is likely is proposed, best first; what is left is open, with the reason. Every step is a
pure function of the drafts and the resources.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tiltmeter.errors import UsageError
from tiltmeter.making.draft import Draft, RepairFinding, apply_findings
from tiltmeter.making.repair.capitals import find_casing_errors
from tiltmeter.making.repair.grammatical_agreement import find_agreement_errors
from tiltmeter.making.repair.language_rules import LanguageRules, load_rules
from tiltmeter.making.repair.punctuation import find_punctuation_errors
from tiltmeter.making.repair.repair_resources import ProjectAlignment, RepairResources, align_project
from tiltmeter.making.repair.rewrite_rules import find_rewrites
from tiltmeter.making.repair.spacing import find_spacing_errors
from tiltmeter.making.repair.synonyms import find_synonym_errors
from tiltmeter.making.repair.target_terms import find_missing_targets
from tiltmeter.translators.word_alignment import Eflomal

__all__ = ["STEPS", "LanguageRules", "RepairResources", "RepairResult", "align_project", "load_rules", "repair_drafts"]

Step = Callable[[Sequence[Draft], RepairResources], list[RepairFinding]]

# In the order in which they are run. The steps from `agreement` on use the alignment, so it is made after those that
# clean the texts; `synonyms` comes before `target`, which then finds fewer terms missing.
STEPS: dict[str, Step] = {
    "spacing": find_spacing_errors,
    "punctuation": find_punctuation_errors,
    "casing": find_casing_errors,
    "rewriting": find_rewrites,
    "agreement": find_agreement_errors,
    "synonyms": find_synonym_errors,
    "target": find_missing_targets,
}
_ALIGNED = ("agreement", "target")


@dataclass(frozen=True, slots=True)
class RepairResult:
    """The drafts with all sure changes made, all findings in order, and what the alignment was trained on.

    `aligner` is empty and `pairs` 0 where no aligner was installed or needed.
    """

    drafts: list[Draft]
    findings: list[RepairFinding]
    aligner: str = ""
    pairs: int = 0


def repair_drafts(
    drafts: Sequence[Draft],
    *,
    rules: LanguageRules | None = None,
    aligner: Eflomal | None = None,
    steps: Sequence[str] = tuple(STEPS),
) -> RepairResult:
    """Run the steps on the drafts of one language; `aligner` is None to do without (see `find_aligner`)."""
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        raise UsageError(f"There is no repair step {unknown[0]!r}; there are {', '.join(STEPS)}.")
    current = list(drafts)
    if not current:
        return RepairResult([], [])
    resources = RepairResources(load_rules(current[0].language) if rules is None else rules)
    findings: list[RepairFinding] = []
    aligned: ProjectAlignment | None = None
    for name, step in STEPS.items():
        if name not in steps:
            continue
        if name in _ALIGNED and aligned is None:
            aligned = align_project(current, aligner)
            resources = replace(resources, alignment=aligned)
        found = step(current, resources)
        findings += found
        current = _apply_to_drafts(current, found)
        if name == "synonyms":
            pending = frozenset(finding.item for finding in found if finding.kind == "proposed")
            resources = replace(resources, pending=pending)
    pairs = aligned.pairs if aligned else 0
    return RepairResult(current, findings, aligner.name if aligner and pairs else "", pairs)


def _apply_to_drafts(drafts: Sequence[Draft], findings: Sequence[RepairFinding]) -> list[Draft]:
    by_item: dict[str, list[RepairFinding]] = {}
    for finding in findings:
        by_item.setdefault(finding.item, []).append(finding)
    return [apply_findings(draft, by_item[draft.item]) if draft.item in by_item else draft for draft in drafts]
