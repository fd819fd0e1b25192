"""The precision of repair rules in a project, from the decisions of its reviewers on the changes of the rules."""

from collections import Counter
from collections.abc import Mapping

from tiltmeter.files import write_text
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import StoredFinding
from tiltmeter.making.repair.proven_changes import UNPROVEN, contains_change
from tiltmeter.making.repair.rule_precision import (
    LEAST_READ,
    PROJECT_FILE,
    RulePrecision,
    format_precision,
    parse_precision,
)
from tiltmeter.making.timestamp import get_timestamp

# Who read the changes whose precision a project measures.
READER = "the reviewers of this project"


def measure_precision(project: Project) -> dict[str, RulePrecision]:
    """Return the number of changes of each rule on which reviewers decided, and how many of them they kept.

    Changes that were applied count, and changes that were proposed only because their rule is not proven. A change is
    right if the text after the review contains it. Items that reviewers dropped do not count.
    """
    translations = project.store.list_texts("text")
    reviewed = {entry.id for entry in project.store.list_items("reviewed")}
    read, right = Counter[str](), Counter[str]()
    for stored in project.store.list_findings(None, ("changed", "proposed")):
        finding = stored.finding
        if finding.item in reviewed and _is_change(stored):
            read[finding.rule] += 1
            text = translations[finding.item][finding.field]
            right[finding.rule] += contains_change(finding.before, finding.proposals[0], text)
    date, texts = get_timestamp()[:10], f"{project.settings.source}, {project.settings.system}"
    return {rule: RulePrecision(rule, read[rule], right[rule], date, texts, READER) for rule in sorted(read)}


def _is_change(stored: StoredFinding) -> bool:
    """Return whether a finding is a change of a repair rule; a proposal that the rule considers uncertain is not."""
    is_settled = stored.finding.kind == "changed" or stored.closed_by is not None
    return (
        is_settled
        and stored.step == "repair"
        and (stored.finding.kind == "changed" or stored.finding.reason.endswith(UNPROVEN))
    )


def record_precision(project: Project, measured: Mapping[str, RulePrecision]) -> list[RulePrecision]:
    """Write the precision of the rules with enough decisions to `precision.toml`, and return it.

    Rules with too few decisions keep the data that the file has.
    """
    path = project.folder / PROJECT_FILE
    known = parse_precision(path.read_text(encoding="utf-8"), str(path)) if path.is_file() else {}
    recorded = [entry for entry in measured.values() if entry.read >= LEAST_READ]
    if recorded:
        merged = {**known, **{entry.rule: entry for entry in recorded}}
        write_text(path, format_precision(merged[rule] for rule in sorted(merged)))
    return recorded
