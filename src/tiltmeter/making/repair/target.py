"""A target term that does not occur in its context: find the word of the context that stands for it.

The word is looked for by alignment with the source context and by its spelling. Candidates are ranked by how much of
the source term is aligned with them, how often their words stand for the same source term in the other contexts of the
project, and how much they are spelt like the term.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import find_folded, fold_case
from tiltmeter.making.closest import closest_words
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.resources import RepairResources
from tiltmeter.making.word_alignment import AlignedPair, Token

RULE = "target-not-in-context"
PROPOSALS = 3
# A change is sure where the alignment and the spelling lead to the same word. Spelling alone is not: at the cut-off of
# the closest word, "Araber" is like "habe".
SURE_SIMILARITY = 0.6


def target_findings(drafts: Sequence[Draft], resources: RepairResources) -> list[RepairFinding]:
    """A finding for every draft whose target term does not occur in its context."""
    usage = _usage(drafts, resources)
    return [
        _finding(draft, name, context, resources, usage)
        for draft in drafts
        for name, context in _term_and_context(draft)
        if find_folded(draft.texts[context], draft.texts[name]) is None
    ]


def _term_and_context(draft: Draft) -> Iterator[tuple[str, str]]:
    name, context = draft.single_field("term"), draft.single_field("context")
    if name is not None and context is not None:
        yield name, context


@dataclass(frozen=True, slots=True)
class _Usage:
    """How often words occur in contexts, and how often as the translation of a source term."""

    words: Counter[str]
    linked: Counter[tuple[str, str]]

    def share(self, term: str, word: str) -> float:
        """The share of a word's occurrences in which it stands for the term, less what chance gives a rare word."""
        return self.linked[fold_case(term), fold_case(word)] / (self.words[fold_case(word)] + 1)


def _usage(drafts: Sequence[Draft], resources: RepairResources) -> _Usage:
    usage = _Usage(Counter(), Counter())
    for draft in drafts:
        for name, context in _term_and_context(draft):
            aligned = resources.alignment.of_text(draft, context)
            if aligned is None:
                continue
            usage.words.update(fold_case(token.text) for token in aligned.target)
            linked = aligned.linked(_source_tokens(draft, name, context, aligned), both=True)
            usage.linked.update(
                (fold_case(draft.source[name]), fold_case(aligned.target[place].text)) for place in linked
            )
    return usage


def _source_tokens(draft: Draft, name: str, context: str, aligned: AlignedPair) -> set[int]:
    """The tokens of the source context that the source term covers, wholly or in part (Ethiopia in Ethiopian)."""
    span = find_folded(draft.source[context], draft.source[name])
    if span is None:
        return set()
    return {place for place, token in enumerate(aligned.source) if token.start < span[1] and token.end > span[0]}


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    score: float
    aligned: bool


def _finding(draft: Draft, name: str, context: str, resources: RepairResources, usage: _Usage) -> RepairFinding:
    term, sentence = draft.texts[name], draft.texts[context]
    close = closest_words(term, sentence)
    candidates = [_Candidate(word, 0.5 * _similarity(word, term), False) for word in close]
    aligned = resources.alignment.of_text(draft, context)
    if aligned is not None:
        candidates += _aligned_candidates(draft, name, context, aligned, usage)
    ranked = sorted(candidates, key=lambda candidate: -candidate.score)
    proposals = tuple(dict.fromkeys(candidate.text for candidate in ranked))[:PROPOSALS]
    if not proposals:
        reason = (
            f"{term!r} does not occur in the context, and no word of it is aligned with the source term or like it."
        )
        return RepairFinding(draft.item, name, RULE, "open", reason, term)
    best = ranked[0]
    if best.aligned and resources.alignment.sure and _similarity(best.text, term) >= SURE_SIMILARITY:
        reason = f"{term!r} does not occur in the context; {best.text!r} does, by word alignment and by spelling."
        return RepairFinding(draft.item, name, RULE, "changed", reason, term, proposals)
    how = "word alignment" if best.aligned else "spelling"
    reason = f"{term!r} does not occur in the context; by {how} it is {best.text!r} there."
    return RepairFinding(draft.item, name, RULE, "proposed", reason, term, proposals)


def _aligned_candidates(
    draft: Draft, name: str, context: str, aligned: AlignedPair, usage: _Usage
) -> Iterator[_Candidate]:
    source = _source_tokens(draft, name, context, aligned)
    if not source:
        return
    sentence, term = draft.texts[context], draft.texts[name]
    for both, weight in ((True, 1.0), (False, 0.6)):
        linked = {place for place in aligned.linked(source, both=both) if aligned.target[place].text != BLANK}
        for run in _runs(sorted(linked), aligned.target, sentence):
            run = _trimmed(run, draft.source[name], aligned.target, usage)
            links = aligned.forward & aligned.reverse if both else aligned.forward | aligned.reverse
            covered = len({token for token, place in links if place in run and token in source}) / len(source)
            share = max(usage.share(draft.source[name], aligned.target[place].text) for place in run)
            start, end = _whole(aligned.target, run[0], run[-1], sentence)
            text = sentence[start:end]
            yield _Candidate(text, weight * covered + share + 0.5 * _similarity(text, term), both)


def _runs(places: Sequence[int], target: Sequence[Token], sentence: str) -> Iterator[list[int]]:
    """Split places into runs of neighbouring tokens with nothing but spaces and hyphens between them."""
    run: list[int] = []
    for place in places:
        if run and (place != run[-1] + 1 or sentence[target[run[-1]].end : target[place].start].strip(" -")):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _trimmed(run: list[int], term: str, target: Sequence[Token], usage: _Usage) -> list[int]:
    """The run without outer words that seldom stand for the term, such as articles."""
    shares = {place: usage.share(term, target[place].text) for place in run}
    least = max(shares.values()) / 5
    while len(run) > 1 and shares[run[0]] < least:
        run = run[1:]
    while len(run) > 1 and shares[run[-1]] < least:
        run = run[:-1]
    return run


def _whole(target: Sequence[Token], first: int, last: int, sentence: str) -> tuple[int, int]:
    """Start and end of a run, extended to whole hyphenated words."""
    while (
        first > 0 and target[first - 1].text != BLANK and sentence[target[first - 1].end : target[first].start] == "-"
    ):
        first -= 1
    while last + 1 < len(target) and target[last + 1].text != BLANK:
        if sentence[target[last].end : target[last + 1].start] != "-":
            break
        last += 1
    return target[first].start, target[last].end


def _similarity(word: str, term: str) -> float:
    return SequenceMatcher(None, fold_case(word), fold_case(term), autojunk=False).ratio()
