"""The repair step `rewriting`, which applies the rewriting rules (regular expressions) of the language."""

from collections.abc import Iterator, Sequence

from tiltmeter.making.draft import Draft, FindingKind, RepairFinding
from tiltmeter.making.repair.language_rules import RewriteRule
from tiltmeter.making.repair.repair_resources import RepairResources


def find_rewrites(drafts: Sequence[Draft], resources: RepairResources) -> list[RepairFinding]:
    """Find the texts that match a rewriting rule; the `rule` of a finding is the name of the rewriting rule."""
    return [finding for draft in drafts for finding in _check_draft(draft, resources.rules.rewrites)]


def _check_draft(draft: Draft, rewrites: Sequence[RewriteRule]) -> Iterator[RepairFinding]:
    for rewrite in rewrites:
        names = [name for kind in rewrite.kinds for name in draft.list_fields(kind)] if rewrite.kinds else draft.texts
        for name in names:
            text = draft.texts[name]
            rewritten = rewrite.pattern.sub(rewrite.replacement, text)
            if rewritten == text:
                continue
            kind: FindingKind = "changed" if rewrite.sure else "proposed"
            yield RepairFinding(draft.item, name, rewrite.name, kind, rewrite.reason, text, (rewritten,))
            if rewrite.sure:
                draft = draft.replace_translation(name, rewritten)
