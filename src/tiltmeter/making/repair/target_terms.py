"""The repair step `target`: if a target term does not occur in its context, find its translation in the context.

Candidates are words of the context that are aligned with the source term, or whose spelling is similar to the target
term. A candidate ranks higher if it is aligned with a larger share of the source term, if its words translate the
source term more often in other contexts, and if its spelling is more similar.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.bounded_matcher import BoundedMatcher, MatchingLimitError
from tiltmeter.forms.case_folding import find_folded, fold_case
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.repair_resources import RepairResources
from tiltmeter.making.similar_words import find_closest_words
from tiltmeter.translators.word_alignment import AlignedPair

RULE = "target-not-in-context"
PROPOSALS = 3
# Minimum similarity of spelling for a safe change. The candidate must also be aligned with the whole source term ("de
# ajedrez" is only a part of "chess player"), because spelling alone is not enough: "Araber" is similar to "habe".
SURE_SIMILARITY = 0.6
# Weights in the score of a candidate: alignment in both directions, alignment in one direction, similar spelling.
_BOTH, _EITHER, _SPELLING = 1.0, 0.6, 0.5
# Outer words of a candidate are removed if they translate the term this many times less often than the best word of the
# candidate.
_TRIMMED = 5
# The word before the aligned word may belong to the term, as in "sich selbst" for "himself". A context counts if the
# word before translates no other source word. (An article usually translates a source article, so it does not count.)
# The two words are proposed as a phrase if the number of such contexts is at least _PHRASE_COUNT and their share is at
# least _PHRASE_SHARE. If the share is at least _PHRASE_MOSTLY, the phrase is proposed before the single word.
_PHRASE_COUNT, _PHRASE_SHARE, _PHRASE_MOSTLY = 3, 0.2, 0.5


def find_missing_targets(drafts: Sequence[Draft], resources: RepairResources) -> list[RepairFinding]:
    """Return a finding for each draft whose target term does not occur in the translated context."""
    usage = _count_usage(drafts, resources)
    return [
        _build_finding(draft, name, context, resources, usage)
        for draft in drafts
        if draft.item not in resources.pending
        for name, context in _list_term_fields(draft)
        if find_folded(draft.texts[context], draft.texts[name]) is None
    ]


def _list_term_fields(draft: Draft) -> Iterator[tuple[str, str]]:
    name, context = draft.get_single_field("term"), draft.get_single_field("context")
    if name is not None and context is not None:
        yield name, context


def _build_finding(
    draft: Draft, name: str, context: str, resources: RepairResources, usage: "_WordUsage"
) -> RepairFinding:
    term = draft.texts[name]
    candidates = _find_candidates(draft, name, context, resources, usage)
    missing = f"{term!r} does not occur in the context"
    if not candidates:
        reason = f"{missing}, and neither word alignment nor spelling finds a word for it."
        return RepairFinding(draft.item, name, RULE, "open", reason, term)
    best = candidates[0]
    proposals = tuple(dict.fromkeys(candidate.text for candidate in candidates))[:PROPOSALS]
    if (
        best.both
        and best.whole
        and resources.alignment.is_reliable
        and _compute_similarity(best.text, term) >= SURE_SIMILARITY
    ):
        reason = f"{missing}; word alignment and spelling find {best.text!r}."
        return RepairFinding(draft.item, name, RULE, "changed", reason, term, proposals)
    reason = f"{missing}; {'word alignment' if best.aligned else 'spelling'} finds {best.text!r}."
    return RepairFinding(draft.item, name, RULE, "proposed", reason, term, proposals)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A part of the context that may translate the term; a higher score is better.

    `aligned` is true if the part is aligned with the source term. `both` is true if it is aligned in both directions,
    and `whole` is true if it is aligned with all words of the source term.
    """

    text: str
    score: float
    aligned: bool = False
    both: bool = False
    whole: bool = False


def _find_candidates(
    draft: Draft, name: str, context: str, resources: RepairResources, usage: "_WordUsage"
) -> list[_Candidate]:
    term, sentence = draft.texts[name], draft.texts[context]
    candidates = [
        _Candidate(word, _SPELLING * _compute_similarity(word, term)) for word in find_closest_words(term, sentence)
    ]
    aligned = resources.alignment.get_alignment(draft, context)
    if aligned is not None and (covered := _find_source_tokens(draft, name, context, aligned)):
        search = _TermSearch(sentence, term, draft.source[name], covered, aligned, usage)
        candidates += [*search.find_candidates(both=True), *search.find_candidates(both=False)]
    return sorted(candidates, key=lambda candidate: -candidate.score)


def _find_source_tokens(draft: Draft, name: str, context: str, aligned: AlignedPair) -> set[int]:
    """Return the indexes of the source context's tokens that overlap with the source term.

    For example, the token "Ethiopian" overlaps with the term "Ethiopia".
    """
    span = find_folded(draft.source[context], draft.source[name])
    if span is None:
        return set()
    return {place for place, token in enumerate(aligned.source) if token.start < span[1] and token.end > span[0]}


@dataclass(frozen=True, slots=True)
class _WordUsage:
    """Counts of words in the contexts of all drafts.

    `words` counts each word. `linked` counts each word that translates a source term (keys: term, word). `preceded`
    counts such words together with the word before (keys: term, word before, word), but only if the word before
    translates no other source word.
    """

    words: Counter[str] = field(default_factory=Counter)
    linked: Counter[tuple[str, str]] = field(default_factory=Counter)
    preceded: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def compute_share(self, term: str, word: str) -> float:
        """Return the share of the occurrences of `word` in which it translates `term`; reduced for rare words."""
        return self.linked[fold_case(term), fold_case(word)] / (self.words[fold_case(word)] + 1)

    def compute_phrase_share(self, term: str, before: str, word: str) -> float:
        """Of the times that `word` translates `term`, return the share with `before` as the preceding word.

        Return 0 if this is the preceding word fewer than `_PHRASE_COUNT` times.
        """
        term, before, word = fold_case(term), fold_case(before), fold_case(word)
        together = self.preceded[term, before, word]
        return together / self.linked[term, word] if together >= _PHRASE_COUNT else 0.0


def _count_usage(drafts: Sequence[Draft], resources: RepairResources) -> _WordUsage:
    usage = _WordUsage()
    for draft in drafts:
        for name, context in _list_term_fields(draft):
            aligned = resources.alignment.get_alignment(draft, context)
            if aligned is None:
                continue
            term, words = fold_case(draft.source[name]), [fold_case(token.text) for token in aligned.target]
            covered = _find_source_tokens(draft, name, context, aligned)
            linked = aligned.find_linked_words(covered, both=True)
            usage.words.update(words)
            usage.linked.update((term, words[place]) for place in linked)
            for place in linked:
                if place and _has_no_other_link(aligned, place - 1, covered):
                    usage.preceded[term, words[place - 1], words[place]] += 1
    return usage


def _has_no_other_link(aligned: AlignedPair, place: int, covered: set[int]) -> bool:
    """Tell whether the target token at index `place` is linked only with source tokens in `covered`."""
    links = aligned.forward | aligned.reverse
    return all(source in covered for source, target in links if target == place)


@dataclass(frozen=True, slots=True)
class _TermSearch:
    """The search for the translation of a term in one aligned context.

    `covered` are the indexes of the source term's tokens in the source context.
    """

    sentence: str
    term: str
    source_term: str
    covered: set[int]
    aligned: AlignedPair
    usage: _WordUsage

    def find_candidates(self, *, both: bool) -> Iterator[_Candidate]:
        """Yield the sequences of words that are aligned with the source term; with `both`, in both directions."""
        target = self.aligned.target
        linked = {
            place for place in self.aligned.find_linked_words(self.covered, both=both) if target[place].text != BLANK
        }
        for run in self._split_into_word_runs(sorted(linked)):
            run = self._trim_word_run(run)
            start, end = self._extend_to_hyphens(run[0], run[-1])
            text = self.sentence[start:end]
            coverage = self._compute_coverage(run)
            score = (_BOTH if both else _EITHER) * coverage + max(map(self._get_term_share, run))
            score += _SPELLING * _compute_similarity(text, self.term)
            yield _Candidate(text, score, aligned=True, both=both, whole=coverage == 1)
            share = self._compute_phrase_share(run[0])
            if share >= _PHRASE_SHARE:
                # The small difference ranks the phrase directly before or directly after the word alone.
                score += 0.01 if share >= _PHRASE_MOSTLY else -0.01
                phrase = self.sentence[target[run[0] - 1].start : end]
                yield _Candidate(phrase, score, aligned=True, both=both, whole=coverage == 1)

    def _split_into_word_runs(self, places: Sequence[int]) -> Iterator[list[int]]:
        """Split the indexes of words into sequences of neighbours with only spaces or hyphens between them."""
        run: list[int] = []
        for place in places:
            if run and (place != run[-1] + 1 or self._get_text_between(run[-1]).strip(" -")):
                yield run
                run = []
            run.append(place)
        if run:
            yield run

    def _get_text_between(self, place: int) -> str:
        return self.sentence[self.aligned.target[place].end : self.aligned.target[place + 1].start]

    def _get_term_share(self, place: int) -> float:
        return self.usage.compute_share(self.source_term, self.aligned.target[place].text)

    def _compute_coverage(self, run: Sequence[int]) -> float:
        """Return the share of the source term's tokens that are linked with the sequence `run` in either direction."""
        links = self.aligned.forward | self.aligned.reverse
        return len({source for source, place in links if place in run and source in self.covered}) / len(self.covered)

    def _trim_word_run(self, run: list[int]) -> list[int]:
        """Remove words at both ends of the sequence `run` that rarely translate the term, such as articles."""
        least = max(map(self._get_term_share, run)) / _TRIMMED
        while len(run) > 1 and self._get_term_share(run[0]) < least:
            run = run[1:]
        while len(run) > 1 and self._get_term_share(run[-1]) < least:
            run = run[:-1]
        return run

    def _extend_to_hyphens(self, first: int, last: int) -> tuple[int, int]:
        """Return the start and end (in characters) of a sequence of words, extended to whole hyphenated words.

        The sequence is not extended to the blank.
        """
        target = self.aligned.target
        joined = [
            self._get_text_between(place) == "-" and BLANK not in (one.text, other.text)
            for place, (one, other) in enumerate(pairwise(target))
        ]
        while first > 0 and joined[first - 1]:
            first -= 1
        while last < len(joined) and joined[last]:
            last += 1
        return target[first].start, target[last].end

    def _compute_phrase_share(self, first: int) -> float:
        """Return the share of contexts in which the word at index `first` has the same preceding word as here.

        Only contexts in which the word translates the term are counted. If the share is large, the preceding word
        probably belongs to the translation of the term.
        """
        if first == 0 or self._get_text_between(first - 1) != " ":
            return 0.0
        before, word = self.aligned.target[first - 1], self.aligned.target[first]
        if before.text == BLANK or not _has_no_other_link(self.aligned, first - 1, self.covered):
            return 0.0
        return self.usage.compute_phrase_share(self.source_term, before.text, word.text)


def _compute_similarity(word: str, term: str) -> float:
    try:
        return BoundedMatcher(fold_case(word), fold_case(term)).ratio()
    except MatchingLimitError:
        return 0.0
