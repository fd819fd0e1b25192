"""Repair of translated items in steps. Each step is a pure function of the drafts and the resources.

Changes of proven rules are applied. Likely changes are proposed, the best proposal first. Other problems stay open,
with a reason. A rule is proven if a sample of its changes in the language was read, and nearly all were right.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tiltmeter.errors import UsageError
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.capitals import find_casing_errors
from tiltmeter.making.repair.grammatical_agreement import find_agreement_errors
from tiltmeter.making.repair.language_rules import LanguageRules, load_rules
from tiltmeter.making.repair.letter_cases import collect_letter_cases
from tiltmeter.making.repair.proven_changes import settle_changes, update_proposals
from tiltmeter.making.repair.punctuation import find_punctuation_errors
from tiltmeter.making.repair.repair_resources import RepairResources, align_project
from tiltmeter.making.repair.rewrite_rules import find_rewrites
from tiltmeter.making.repair.rule_precision import RulePrecision, load_precision
from tiltmeter.making.repair.spacing import find_spacing_errors
from tiltmeter.making.repair.synonyms import find_synonym_errors
from tiltmeter.making.repair.target_terms import find_missing_targets
from tiltmeter.translators.word_alignment import Eflomal

__all__ = ["STEPS", "LanguageRules", "RepairResult", "get_step_of_rule", "load_rules", "repair_drafts"]

Step = Callable[[Sequence[Draft], RepairResources], list[RepairFinding]]

# The steps in the order of execution. The first four steps clean the texts before the texts are aligned. `synonyms` is
# before `target`, so that `target` finds fewer missing terms.
STEPS: dict[str, Step] = {
    "spacing": find_spacing_errors,
    "punctuation": find_punctuation_errors,
    "casing": find_casing_errors,
    "rewriting": find_rewrites,
    "agreement": find_agreement_errors,
    "synonyms": find_synonym_errors,
    "target": find_missing_targets,
}
# The steps that need word alignment.
_ALIGNED = ("agreement", "target")
# The rules of each step. All other rules are rewriting rules of a language.
_RULES = {
    "spacing": ("dash-at-blank", "spaces", "space-before-punctuation", "attached-blank"),
    "punctuation": ("punctuation-in-word", "several-words"),
    "casing": ("casing", "sentence-capital", "capital-after-blank"),
    "agreement": ("agreement",),
    "synonyms": ("synonym",),
    "target": ("target-not-in-context",),
}
_STEPS_OF_RULES = {rule: step for step, rules in _RULES.items() for rule in rules}


@dataclass(frozen=True, slots=True)
class StepResult:
    """The drafts after a repair step, and the findings of the step."""

    step: str
    drafts: list[Draft]
    findings: list[RepairFinding]


@dataclass(frozen=True, slots=True)
class RepairResult:
    """The drafts with all safe changes applied, and the findings of all steps in order.

    `aligner` is the name of the word aligner, and `pairs` is the number of sentences that were aligned with their
    sources. If no aligner was available or needed, the name is empty and the number is 0. `steps` has the results of
    the steps in their order.
    """

    drafts: list[Draft]
    findings: list[RepairFinding]
    aligner: str = ""
    pairs: int = 0
    steps: tuple[StepResult, ...] = ()


def repair_drafts(
    drafts: Sequence[Draft],
    *,
    rules: LanguageRules | None = None,
    aligner: Eflomal | None = None,
    steps: Sequence[str] = tuple(STEPS),
    precision: Mapping[str, RulePrecision] | None = None,
) -> RepairResult:
    """Run the repair steps on drafts of one language, and return the repaired drafts and the findings.

    If `aligner` is None, the steps do not use word alignment. `precision` is the measured precision of the rules
    (None: the packaged data of the language). Changes of rules whose precision is too low or unknown are only proposed.
    """
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        raise UsageError(f"There is no repair step {unknown[0]!r}; choose from {', '.join(STEPS)}.")
    current = list(drafts)
    if not current:
        return RepairResult([], [])
    resources = RepairResources(
        load_rules(current[0].language) if rules is None else rules, cases=collect_letter_cases(current)
    )
    measured = load_precision(current[0].language) if precision is None else precision
    findings: list[RepairFinding] = []
    results: list[StepResult] = []
    is_aligned = False
    for name, step in STEPS.items():
        if name not in steps:
            continue
        if name in _ALIGNED and not is_aligned:
            is_aligned = True
            resources = replace(resources, alignment=align_project(current, aligner))
        current, step_findings = settle_changes(current, step(current, resources), measured)
        findings += step_findings
        results.append(StepResult(name, current, step_findings))
        if name == "synonyms":
            pending = frozenset(finding.item for finding in step_findings if finding.kind == "proposed")
            resources = replace(resources, pending=pending)
    pairs = resources.alignment.pairs
    findings = update_proposals(current, findings)
    return RepairResult(current, findings, aligner.name if aligner and pairs else "", pairs, tuple(results))


def get_step_of_rule(rule: str) -> str:
    """Return the step whose findings have this rule.

    >>> get_step_of_rule("spaces"), get_step_of_rule("es-del")
    ('spacing', 'rewriting')
    """
    return _STEPS_OF_RULES.get(rule, "rewriting")
