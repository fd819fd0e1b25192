"""Repair of target terms in the released translations of StereoSet, compared with the thesis of Öztürk.

TILTMETER_MIRROR=... python -m perf.repair
TILTMETER_MIRROR=... python -m perf.repair --languages de --times 3 --read

German is repaired from the raw translations and compared with the final terms of the authors. French, Spanish and
Turkish were released without repair. `--read` prints the German items whose first proposal differs from the term of the
authors, by class. Training the aligner is random: `--times` repeats it.
"""

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiltmeter.datasets.readers import stereoset_pickle
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import find_folded, fold_case
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair import LanguageRules, RepairResult, load_rules, repair_drafts
from tiltmeter.making.repair.repair_resources import ProjectAlignment, align_project
from tiltmeter.translators.word_alignment import Eflomal, find_aligner

FOLDER = Path("slds-lmu/stereotypes-multi/create_dataset/data")
PARTS = ("intrasentence", "intersentence")
RAW = {("de", "intrasentence"): "de_v2_0", ("de", "intersentence"): "de_v1_0"}
# Contexts without their term, and contexts without a proposal: section 3.1.4 of the thesis; counts of the released
# files are in docs/evidence/data-sets.md.
EXPECTED = {
    "de": (562, 535),
    "fr": (372, 333),
    "es": (520, 496),
    "tr": (427, 455),
}
THESIS_LEFT = (57, 41)


def read(mirror: Path, part: str, edition: str) -> dict[str, Mapping[str, Any]]:
    """Return the raw records of a file by id."""
    path = mirror / FOLDER / part / f"df_{part}_{edition}.pkl"
    records = stereoset_pickle.parse(path, edition[:2])
    return {str(record.values["id"]): record.values for record in records if record.values is not None}


def draft(source: Mapping[str, Any], translated: Mapping[str, Any], language: str) -> Draft:
    """Return a draft of an item; sentences of intrasentence candidates are translations of the filled context."""
    by_role = {candidate["role"]: candidate for candidate in translated["candidates"]}
    texts = {"target_term": translated["target_term"], "context": translated["context"]}
    original = {"target_term": source["target"], "context": source["context"]}
    filled = {}
    kind = "word" if translated["part"] == "intrasentence" else "sentence"
    for number, candidate in enumerate(source["candidates"]):
        name = f"candidates[{number}].{kind}"
        original[name], texts[name] = candidate[kind], by_role[candidate["role"]][kind]
        if kind == "word":
            filled[name] = by_role[candidate["role"]]["sentence"]
    return Draft(str(source["id"]), "association", "en", language, original, texts, filled)


@dataclass(frozen=True)
class Project:
    """The drafts of a language in both parts; `released` are the authors' final records."""

    language: str
    drafts: list[Draft]
    part: Mapping[str, str]
    released: Mapping[str, Mapping[str, Any]]

    def missing(self) -> list[Draft]:
        """Return the drafts whose translated context does not contain the target term."""
        return [draft for draft in self.drafts if not occurs(draft)]


def project(mirror: Path, language: str) -> Project:
    """Return both parts of a language."""
    drafts, parts, released = [], {}, {}
    for part in PARTS:
        english = read(mirror, part, "en")
        for id_, record in read(mirror, part, RAW.get((language, part), language)).items():
            drafts.append(draft(english[id_], record, language))
            parts[id_] = part
        released |= read(mirror, part, language)
    return Project(language, drafts, parts, released)


def occurs(draft: Draft) -> bool:
    return find_folded(draft.texts["context"], draft.texts["target_term"]) is not None


# Measures


@dataclass(frozen=True)
class Outcome:
    """The proposed terms of an item whose term was missing, best first; empty if there is no proposal."""

    draft: Draft
    terms: tuple[str, ...]
    kind: str


def outcomes(work: Project, repaired: RepairResult) -> list[Outcome]:
    """Return the terms of every item with a missing term.

    If a rule of the language rewrites the context, the term is kept; otherwise the terms are the proposals.
    """
    by_item: dict[str, list[RepairFinding]] = defaultdict(list)
    for finding in repaired.findings:
        if finding.rule in ("synonym", "target-not-in-context"):
            by_item[finding.item].append(finding)
    return [_outcome(draft, by_item[draft.item]) for draft in work.missing()]


def _outcome(draft: Draft, findings: Sequence[RepairFinding]) -> Outcome:
    rewritten = any(finding.rule == "synonym" for finding in findings)
    # A rule may keep the term and rewrite only the context.
    terms = [draft.texts["target_term"]] if rewritten else []
    for finding in findings:
        if finding.field == "target_term":
            terms = list(finding.proposals)
    kinds = {finding.kind for finding in findings}
    kind = "open" if not terms else "proposed" if "proposed" in kinds else "changed"
    return Outcome(draft, tuple(terms[:3]), kind)


def same(one: str, other: str) -> bool:
    return fold_case(one).strip(" .,!?") == fold_case(other).strip(" .,!?")


def german_row(work: Project, results: Sequence[Outcome], part: str) -> dict[str, int]:
    """Return the counts of a part: missing terms, terms kept by the authors, and agreement with their terms."""
    row: Counter[str] = Counter()
    for result in results:
        if work.part[result.draft.item] != part:
            continue
        row["missing"] += 1
        row[result.kind] += 1
        record = work.released.get(result.draft.item)
        if record is None:
            continue
        row["kept"] += 1
        term = record["target_term"]
        row["first"] += bool(result.terms) and same(result.terms[0], term)
        row["three"] += any(same(ours, term) for ours in result.terms)
    return dict(row)


def aligned_to_term(work: Project, alignment: ProjectAlignment, part: str) -> tuple[int, int]:
    """Return in how many contexts the term is aligned with the source term, and the number of contexts with a term."""
    found = present = 0
    for draft in work.drafts:
        pair = alignment.get_alignment(draft, "context")
        source = find_folded(draft.source["context"], draft.source["target_term"])
        if work.part[draft.item] != part or not occurs(draft) or pair is None or source is None:
            continue
        present += 1
        covered = {n for n, token in enumerate(pair.source) if token.start < source[1] and token.end > source[0]}
        linked = pair.find_linked_words(covered, both=True) or pair.find_linked_words(covered, both=False)
        spans = list(occurrences(draft.texts["context"], draft.texts["target_term"]))
        found += any(
            pair.target[place].start < end and pair.target[place].end > start
            for place in linked
            for start, end in spans
        )
    return found, present


def occurrences(text: str, part: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of a part in a text, ignoring case."""
    offset = 0
    while (span := find_folded(text[offset:], part)) is not None:
        yield offset + span[0], offset + span[1]
        offset += span[1]


def classify(result: Outcome, record: Mapping[str, Any]) -> str:
    """Return the type of the difference between the first proposal and the term of the authors."""
    ours, theirs = (result.terms or ("",))[0], record["target_term"]
    context = result.draft.texts["context"].replace(f"{BLANK}-", f"{BLANK} ")
    if find_folded(record["context"], theirs) is None:
        return "the released term is not in its released context"
    if record["context"].replace(f"{BLANK}-", f"{BLANK} ") != context:
        return "the authors rewrote the context"
    if fold_case(theirs) in fold_case(ours) or fold_case(ours) in fold_case(theirs):
        return "one is a part of the other"
    return "another word of the same context"


# Output


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def percent(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.1%})" if total else "–"


class Once:
    """An aligner that aligns the same sentences once, so that variants of one run share an alignment."""

    name = "eflomal"

    def __init__(self, aligner: Eflomal) -> None:
        self.aligner = aligner
        self.known: dict[tuple[tuple[str, str], ...], Any] = {}

    def align_pairs(self, pairs: Sequence[tuple[str, str]]) -> Any:
        key = tuple(pairs)
        if key not in self.known:
            self.known[key] = self.aligner.align_pairs(pairs)
        return self.known[key]


def german(work: Project, aligner: Any, *, read_rest: bool) -> Iterator[str]:
    """Print the table of German: with and without synonyms by rules, and with the closest word only."""
    plain = dict.fromkeys(PARTS, 0)
    for draft in work.drafts:
        plain[work.part[draft.item]] += draft.texts["target_term"].lower() not in draft.texts["context"].lower()
    folded = {draft.item for draft in work.missing()}
    yield "Missing by `lower()` alone: " + ", ".join(f"{part} {count}" for part, count in plain.items())
    for draft in work.drafts:
        if draft.item not in folded and draft.texts["target_term"].lower() not in draft.texts["context"].lower():
            yield f"Found by case folding only: item {draft.item} ({draft.source['target_term']})"
    rules = load_rules("de")
    without = replace(rules, synonyms={})
    variants: list[tuple[str, LanguageRules, Any]] = [
        ("alignment, rules", rules, aligner),
        ("alignment, no synonyms", without, aligner),
        ("closest word, rules", rules, None),
        ("closest word, no synonyms", without, None),
    ]
    rows = []
    for name, chosen, with_aligner in variants:
        results = outcomes(work, repair_drafts(work.drafts, rules=chosen, aligner=with_aligner))
        for part, expected, left in zip(PARTS, EXPECTED["de"], THESIS_LEFT, strict=True):
            row = german_row(work, results, part)
            kept = row["kept"]
            counts = [row.get(kind, 0) for kind in ("changed", "proposed")]
            no_proposal = f"{row.get('open', 0)} ({left})"
            agreement = [percent(row[key], kept) for key in ("first", "three")]
            rows.append([name, part, f"{row['missing']} ({expected})", *counts, no_proposal, kept, *agreement])
        if name == "alignment, rules":
            rest = list(_rest(work, results, read_rest=read_rest))
    head = ["", "part", "missing (thesis)", "changed", "proposed", "no proposal (thesis)", "kept", "first", "in three"]
    yield table(head, rows)
    yield "\n".join(rest)


def _rest(work: Project, results: Sequence[Outcome], *, read_rest: bool) -> Iterator[str]:
    classes: dict[str, list[str]] = defaultdict(list)
    for result in results:
        record = work.released.get(result.draft.item)
        if record is None or (result.terms and same(result.terms[0], record["target_term"])):
            continue
        line = f"  {result.draft.source['target_term']}: {list(result.terms)} / {record['target_term']}"
        line += f" | {result.draft.texts['context']} | {record['context']}"
        classes[f"{work.part[result.draft.item]}: {classify(result, record)}"].append(line)
    for name, lines in sorted(classes.items()):
        yield f"- {name}: {len(lines)}"
        if read_rest:
            yield from sorted(lines)


def released(work: Project, aligner: Any) -> Iterator[list[object]]:
    """Yield the rows of a released language."""
    # As in `repair_drafts`, cleaned texts are aligned; the alignment of the raw texts gives the positions of terms.
    results = outcomes(work, repair_drafts(work.drafts, aligner=aligner))
    alignment = align_project(work.drafts, aligner)
    for number, part in enumerate(PARTS):
        chosen = [result for result in results if work.part[result.draft.item] == part]
        kinds = Counter(result.kind for result in chosen)
        found, present = aligned_to_term(work, alignment, part)
        proposed = percent(len(chosen) - kinds["open"], len(chosen))
        missing = f"{len(chosen)} ({EXPECTED[work.language][number]})"
        row = [work.language, part, missing, kinds["changed"], kinds["proposed"], kinds["open"], proposed]
        yield [*row, f"{found:,} of {present:,} ({found / present:.1%})"]


def other_steps(work: Project, aligner: Any) -> str:
    """Return the numbers of findings of the other steps.

    They say nothing about agreement, because the sentences of the released files were filled in by a program.
    """
    findings = [
        finding for finding in repair_drafts(work.drafts, aligner=aligner).findings if finding.rule != "agreement"
    ]
    counted = Counter((finding.rule, finding.kind) for finding in findings)
    return ", ".join(f"{rule} {kind} {count}" for (rule, kind), count in sorted(counted.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", nargs="+", default=list(EXPECTED))
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--read", action="store_true")
    chosen = parser.parse_args()
    found = find_aligner()
    if found is None:
        parser.error("eflomal is not installed; get it with: pip install 'tiltmeter[align]'")
    mirror = Path(os.environ["TILTMETER_MIRROR"])
    for _ in range(chosen.times):
        rows: list[list[object]] = []
        for language in chosen.languages:
            work, aligner = project(mirror, language), Once(found)
            if language == "de":
                print("\n\n".join(german(work, aligner, read_rest=chosen.read)), flush=True)
            rows += released(work, aligner)
            print(f"\n{language}: {other_steps(work, aligner)}", flush=True)
        head = [
            "",
            "part",
            "missing (expected)",
            "changed",
            "proposed",
            "open",
            "with a proposal",
            "aligned where there",
        ]
        print("\n" + table(head, rows) + "\n", flush=True)


if __name__ == "__main__":
    main()
