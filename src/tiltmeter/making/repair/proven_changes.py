"""Apply the changes of proven repair rules to drafts, and turn the changes of other rules into proposals."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tiltmeter.forms.bounded_matcher import BoundedMatcher, MatchingLimitError
from tiltmeter.making.draft import Draft, RepairFinding, group_by_item
from tiltmeter.making.repair.rule_precision import RulePrecision

# The end of the reason of a change that is only proposed, because its rule is not proven.
UNPROVEN = "The rule is not proven for this language."
_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")


def settle_changes(
    drafts: Sequence[Draft], findings: Iterable[RepairFinding], precision: Mapping[str, RulePrecision]
) -> tuple[list[Draft], list[RepairFinding]]:
    """Return the drafts with the changes of proven rules, and the findings in which other changes are proposals."""
    by_item = group_by_item(findings)
    settled: list[RepairFinding] = []
    current: list[Draft] = []
    for draft in drafts:
        for finding in by_item.get(draft.item, ()):
            one = _settle_finding(finding, draft.texts[finding.field], precision)
            if one is None:
                continue
            settled.append(one)
            if one.kind == "changed":
                draft = draft.replace_translation(one.field, one.new_text)
        current.append(draft)
    return current, settled


def update_proposals(drafts: Iterable[Draft], findings: Iterable[RepairFinding]) -> list[RepairFinding]:
    """Return the findings with proposals that include the changes that later steps made to the same text."""
    texts = {draft.item: draft.texts for draft in drafts}
    updated = (
        finding if finding.kind == "changed" else _move_finding(finding, texts[finding.item][finding.field])
        for finding in findings
    )
    return [finding for finding in updated if finding is not None]


def _settle_finding(finding: RepairFinding, text: str, precision: Mapping[str, RulePrecision]) -> RepairFinding | None:
    moved = _move_finding(finding, text)
    if moved is None or moved.kind != "changed" or _is_proven(precision, finding.rule):
        return moved
    return replace(moved, kind="proposed", reason=f"{moved.reason} {UNPROVEN}")


def _is_proven(precision: Mapping[str, RulePrecision], rule: str) -> bool:
    try:
        return precision[rule].is_proven
    except KeyError:
        return False


def _move_finding(finding: RepairFinding, text: str) -> RepairFinding | None:
    """Return a finding about an earlier text as a finding about the present text.

    Return None if another change has replaced the part that the finding is about.
    """
    if text == finding.before or not finding.proposals:
        return replace(finding, before=text)
    moved = [transfer_change(finding.before, proposal, text) for proposal in finding.proposals]
    proposals = tuple(dict.fromkeys(one for one in moved if one is not None and one != text))
    return replace(finding, before=text, proposals=proposals) if proposals else None


def contains_change(before: str, after: str, text: str) -> bool:
    """Tell whether a text contains the change from `before` to `after`.

    >>> contains_change("the cook  sang", "the cook sang", "The cook sang well")
    True
    """
    return text != before and transfer_change(after, before, text) is not None


def transfer_change(before: str, after: str, text: str) -> str | None:
    """Make the change from `before` to `after` in another version of the text; None if that version differs there.

    >>> transfer_change("the cook sang .", "the cook sang.", "The cook sang .")
    'The cook sang.'
    >>> transfer_change("the cook sang", "the chef sang", "the gardener sang") is None
    True
    """
    if text == before:
        return after
    old, new, current = (_TOKENS.findall(version) for version in (before, after, text))
    try:
        changes, kept = BoundedMatcher(old, new).get_opcodes(), BoundedMatcher(old, current).get_opcodes()
    except MatchingLimitError:
        return None
    same = [(start, end, other) for tag, start, end, other, _ in kept if tag == "equal"]
    result = list(current)
    for tag, start, end, new_start, new_end in reversed(changes):
        if tag == "equal":
            continue
        shift = next((other - first for first, last, other in same if first <= start and end <= last), None)
        if shift is None:
            return None
        result[start + shift : end + shift] = new[new_start:new_end]
    return "".join(result)
