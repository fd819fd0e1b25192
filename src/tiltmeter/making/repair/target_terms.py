"""The repair step `target`: if a target term does not occur in its context, find its translation in the context.

Candidates are words of the context that are aligned with the source term, words whose spelling is similar to the target
term, and terms of other items. A candidate ranks higher if it is aligned with a larger share of the source term, if its
words translate the source term more often in other contexts, and if its spelling is more similar.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tiltmeter.forms.case_folding import find_folded, fold_case
from tiltmeter.forms.word_difference import split_words
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.letter_cases import lower_first_letter
from tiltmeter.making.repair.repair_resources import RepairResources
from tiltmeter.making.repair.term_candidates import (
    HIGH_SIMILARITY,
    AlignedTermSearch,
    TermCandidate,
    compute_similarity,
    find_known_forms,
    find_similar_runs,
    strip_outer_words,
)
from tiltmeter.making.repair.term_usage import TermUsage, count_usage, find_source_tokens, list_term_fields
from tiltmeter.making.similar_words import find_closest_words

RULE = "target-not-in-context"
PROPOSALS = 3
# Minimum similarity of spelling for a safe change. The candidate must also be aligned with the whole source term ("de
# ajedrez" is only a part of "chess player"), because spelling alone is not enough: "Araber" is similar to "habe".
SURE_SIMILARITY = 0.6
# A term that at least this many other items use needs no similar spelling.
_KNOWN_TERMS = 3
_SPELLING = 0.5
# Words of the source in a translation are probably not translated. Shorter words, such as "a", exist in many languages.
_LEAST_LETTERS, _TINY = 3, 0.01


def find_missing_targets(drafts: Sequence[Draft], resources: RepairResources) -> list[RepairFinding]:
    """Return a finding for each draft whose target term does not occur in the translated context."""
    usage = count_usage(drafts, resources)
    return [
        _build_finding(draft, name, context, resources, usage)
        for draft in drafts
        if draft.item not in resources.pending
        for name, context in list_term_fields(draft)
        if find_folded(draft.texts[context], draft.texts[name]) is None
    ]


def _build_finding(
    draft: Draft, name: str, context: str, resources: RepairResources, usage: TermUsage
) -> RepairFinding:
    term = draft.texts[name]
    candidates = _find_candidates(draft, name, context, resources, usage)
    missing = f"{term!r} does not occur in the context"
    if not candidates:
        reason = f"{missing}, and neither word alignment nor spelling finds a word for it."
        return RepairFinding(draft.item, name, RULE, "open", reason, term)
    best = candidates[0]
    proposals = tuple(dict.fromkeys(candidate.text for candidate in candidates))[:PROPOSALS]
    is_similar = compute_similarity(best.text, term) >= SURE_SIMILARITY
    if best.both and resources.alignment.is_reliable and not best.untranslated:
        # A part with more or fewer words than the term is often incomplete, or has a word between its words.
        if best.whole and is_similar and len(split_words(best.text)) == len(split_words(term)):
            reason = f"{missing}; word alignment and spelling find {best.text!r}."
            return RepairFinding(draft.item, name, RULE, "changed", reason, term, proposals)
        if best.known >= _KNOWN_TERMS:
            reason = f"{missing}; word alignment finds {best.text!r}, which is the term of {best.known} other items."
            return RepairFinding(draft.item, name, RULE, "changed", reason, term, proposals)
    reason = f"{missing}; {'word alignment' if best.aligned else 'spelling'} finds {best.text!r}."
    if best.untranslated:
        reason += " It is a word of the source, which may be untranslated."
    return RepairFinding(draft.item, name, RULE, "proposed", reason, term, proposals)


def _find_candidates(
    draft: Draft, name: str, context: str, resources: RepairResources, usage: TermUsage
) -> list[TermCandidate]:
    """Return the candidates for the term of a draft, best first; all evidence for one text is combined."""
    term, sentence, source = draft.texts[name], draft.texts[context], draft.source[context]
    found = [
        TermCandidate(word, _SPELLING * compute_similarity(word, term)) for word in find_closest_words(term, sentence)
    ]
    found += find_similar_runs(term, sentence)
    for candidate, count in find_known_forms(sentence, usage.forms.get(fold_case(draft.source[name]), {})):
        found.append(replace(candidate, known=count))
    aligned = resources.alignment.get_alignment(draft, context)
    if aligned is not None and (covered := find_source_tokens(draft, name, context, aligned)):
        search = AlignedTermSearch(sentence, term, draft.source[name], covered, aligned, usage)
        found = [search.add_alignment(candidate) for candidate in found]
        found += [*search.find_candidates(both=True), *search.find_candidates(both=False)]
    outer = resources.rules.outer_words
    stripped = [replace(one, text=strip_outer_words(one.text, term, outer)) for one in found]
    lowered = [replace(one, text=_lower_at_start(one.text, draft, context, resources)) for one in stripped]
    kept = [one for one in lowered if fold_case(one.text) not in outer]
    merged = [_mark_untranslated(candidate, term, source) for candidate in _merge_candidates(kept)]
    return sorted(_lower_untranslated(merged, term), key=lambda candidate: -candidate.score)


def _merge_candidates(candidates: Iterable[TermCandidate]) -> list[TermCandidate]:
    """Return one candidate for each text, with the best score and all evidence."""
    merged: dict[str, TermCandidate] = {}
    for one in candidates:
        other = merged.get(one.text, one)
        merged[one.text] = replace(
            one,
            score=max(one.score, other.score),
            aligned=one.aligned or other.aligned,
            both=one.both or other.both,
            whole=one.whole or other.whole,
            known=max(one.known, other.known),
        )
    return list(merged.values())


def _mark_untranslated(candidate: TermCandidate, term: str, source: str) -> TermCandidate:
    """Mark a candidate that has words of the source."""
    # A name such as "Sierra Leone" may keep words of the source.
    names = {fold_case(word) for word in split_words(source) if word[0].isupper()}
    own, english = set(map(fold_case, split_words(term))) & names, set(map(fold_case, split_words(source)))
    words = {word for word in map(fold_case, split_words(candidate.text)) if len(word) >= _LEAST_LETTERS}
    return replace(candidate, untranslated=bool(words & (english - own)))


def _lower_untranslated(candidates: Sequence[TermCandidate], term: str) -> list[TermCandidate]:
    """Rank candidates with words of the source after all translated candidates that have good evidence."""
    similarity = {one.text: compute_similarity(one.text, term) for one in candidates}
    good = [
        one.score
        for one in candidates
        if not one.untranslated and (one.both or similarity[one.text] >= SURE_SIMILARITY)
    ]
    return [
        replace(one, score=min([one.score, *good]) - _TINY)
        if one.untranslated and similarity[one.text] < HIGH_SIMILARITY
        else one
        for one in candidates
    ]


def _lower_at_start(text: str, draft: Draft, context: str, resources: RepairResources) -> str:
    """Return a candidate from the start of the context with a small letter, if the texts of the project write it so."""
    is_at_start = draft.texts[context].startswith(text)
    word = text.split()[0]
    if not is_at_start or not word[0].isupper() or word[1:] != word[1:].lower() or resources.rules.capital_nouns:
        return text
    if resources.cases.is_capitalised(word) or not resources.cases.is_small(word):
        return text
    return lower_first_letter(text, draft.language)
