"""Draw samples of the changes of each repair rule, so that a person can read them and count the right ones.

TILTMETER_MIRROR=... python -m perf.repair_precision fr --rules target-not-in-context
python -m perf.repair_precision --project my-gl --rules agreement --development

The released languages (de, fr, es, tr) are the files of the multilingual StereoSet; their filled sentences were made by
a program, so they are not used. `--project` reads a translated project that was not repaired. A fifth of the items, by
a hash of their ids, is for the development of rules; samples are drawn from the other items, and completed from this
fifth if they are smaller than 100. All rules count as proven here. The script also counts the terms of several words
whose form in the context is among the proposals.
"""

import argparse
import hashlib
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

from perf.repair import project as read_released
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import find_folded, fold_case
from tiltmeter.forms.word_difference import find_word_spans
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.project import open_project
from tiltmeter.making.repair import repair_drafts
from tiltmeter.making.repair.rule_precision import ALL_PROVEN
from tiltmeter.translators.word_alignment import find_aligner

SAMPLE, SEED = 100, 20261119
HIGH = 0.85


@dataclass(frozen=True)
class Change:
    """A change of a rule with the texts that a reader needs to judge it."""

    finding: RepairFinding
    draft: Draft

    def format(self) -> str:
        """Return the change as one line."""
        one, field = self.finding, self.finding.field
        text = f"{one.before!r} -> {one.new_text!r}"
        if field not in ("context",) and "sentence" not in field:
            context = self.draft.get_single_field("context")
            text += f" | {self.draft.source[field]} | {self.draft.texts[context] if context else ''}"
            text += f" | {self.draft.source[context] if context else ''}"
            if field in self.draft.filled:
                text += f" | {self.draft.filled[field]}"
        return text


def is_for_development(item: str) -> bool:
    """Tell whether an item belongs to the fifth on which rules may be developed."""
    return hashlib.sha256(item.encode()).digest()[0] % 5 == 0


def read_drafts(language: str, folder: Path | None) -> list[Draft]:
    """Return the drafts of a released language or of a project."""
    if folder is not None:
        with open_project(folder) as work:
            return work.build_drafts(work.store.list_items())
    mirror = Path(os.environ["TILTMETER_MIRROR"])
    return [replace(draft, filled={}) for draft in read_released(mirror, language).drafts]


def collect_changes(drafts: Sequence[Draft], findings: Sequence[RepairFinding]) -> dict[str, list[Change]]:
    """Return the changes of each rule, each with the draft as it was before the repair."""
    by_id = {draft.item: draft for draft in drafts}
    changes: dict[str, list[Change]] = defaultdict(list)
    for finding in findings:
        if finding.kind == "changed":
            changes[finding.rule].append(Change(finding, by_id[finding.item]))
    return changes


def draw_sample(changes: Sequence[Change], *, development: bool, size: int = SAMPLE) -> list[Change]:
    """Return a seeded sample of the changes; if too few are held aside, the other changes complete it."""
    ordered = sorted(changes, key=lambda change: (change.finding.item, change.finding.field))
    random.Random(SEED).shuffle(ordered)
    first = [change for change in ordered if is_for_development(change.finding.item) == development]
    rest = [change for change in ordered if is_for_development(change.finding.item) != development]
    return first[:size] if development else (first + rest)[:size]


def count_multi_word(drafts: Sequence[Draft], findings: Sequence[RepairFinding]) -> tuple[int, int, list[str]]:
    """Count missing terms of several words with a very similar part of the context, and those that are proposed.

    Items in which a synonym rule settled the term are left out.
    """
    synonyms = {finding.item for finding in findings if finding.rule == "synonym"}
    proposals = {one.item: one.proposals for one in findings if one.rule == "target-not-in-context"}
    present, total, missed = 0, 0, []
    for draft in drafts:
        name, context = draft.get_single_field("term"), draft.get_single_field("context")
        if name is None or context is None or len(find_word_spans(draft.texts[name])) < 2:
            continue
        term, text = draft.texts[name], draft.texts[context]
        if find_folded(text, term) is not None or draft.item in synonyms:
            continue
        similar = [run for run in list_runs(text) if compare(run, term) >= HIGH]
        if similar:
            total += 1
            found = any(compare(one, term) >= HIGH for one in proposals.get(draft.item, ()))
            present += found
            if not found:
                missed.append(f"{term} | {text} | {proposals.get(draft.item)}")
    return present, total, missed


def list_runs(text: str) -> Iterator[str]:
    """Yield all sequences of words of a text without the blank."""
    spans = find_word_spans(text)
    for first in range(len(spans)):
        for last in range(first, min(first + 6, len(spans))):
            run = text[spans[first][0] : spans[last][1]]
            if BLANK not in run:
                yield run


def compare(one: str, other: str) -> float:
    return SequenceMatcher(None, fold_case(one), fold_case(other), autojunk=False).ratio()


def list_forms(drafts: Sequence[Draft]) -> Mapping[str, int]:
    """Return the number of forms of each source term that a project has in more than one form."""
    forms: dict[str, set[str]] = defaultdict(set)
    for draft in drafts:
        if (name := draft.get_single_field("term")) is not None:
            forms[fold_case(draft.source[name])].add(fold_case(draft.texts[name]))
    return {term: len(found) for term, found in forms.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", nargs="?", default="")
    parser.add_argument("--project", type=Path)
    parser.add_argument("--rules", nargs="*", default=[], help="Print samples of these rules; `all` for every rule.")
    parser.add_argument("--development", action="store_true")
    parser.add_argument("--no-align", action="store_true")
    chosen = parser.parse_args()
    aligner = None if chosen.no_align else find_aligner()
    drafts = read_drafts(chosen.language, chosen.project)
    result = repair_drafts(drafts, aligner=aligner, precision=ALL_PROVEN)
    changes = collect_changes(drafts, result.findings)
    counted = Counter((finding.rule, finding.kind) for finding in result.findings)
    print(f"aligner: {result.aligner or 'none'}")
    print(", ".join(f"{rule} {kind} {count}" for (rule, kind), count in sorted(counted.items())))
    present, total, missed = count_multi_word(drafts, result.findings)
    print(f"multi-word terms with a similar part of the context: proposed in {present} of {total}")
    print(*missed[:10], sep="\n")
    before, after = list_forms(drafts), list_forms(result.drafts)
    print(f"forms of a term: at most {max(before.values())} before and {max(after.values())} after")
    for rule in sorted(changes) if chosen.rules == ["all"] else chosen.rules:
        sample = draw_sample(changes[rule], development=chosen.development)
        print(f"{rule}: {len(changes[rule])} changes, {len(sample)} drawn")
        for number, change in enumerate(sample, start=1):
            print(f"{number:>3} {change.format()}")


if __name__ == "__main__":
    main()
