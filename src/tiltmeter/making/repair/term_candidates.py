"""Candidates for the translation of a term in a context, by word alignment, spelling and the terms of other items."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.bounded_matcher import BoundedMatcher, MatchingLimitError
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.forms.word_difference import find_word_spans, split_words
from tiltmeter.making.repair.term_usage import TermUsage, find_whole_words, has_no_other_link
from tiltmeter.translators.word_alignment import AlignedPair

# A sequence of words with at least this similarity to the term is a candidate that ranks before most others.
HIGH_SIMILARITY = 0.85
# Weights in the score of a candidate: alignment in both directions, alignment in one direction, similar spelling.
_BOTH, _EITHER, _SPELLING = 1.0, 0.6, 0.5
# Outer words of a candidate are removed if they translate the term this many times less often than the best word of the
# candidate.
_TRIMMED = 5
# The word before the aligned word may belong to the term, as in "sich selbst" for "himself". A context counts if the
# word before translates no other source word. (An article usually translates a source article, so it does not count.)
# The two words are proposed as a phrase if the number of such contexts is at least _PHRASE_COUNT and their share is at
# least _PHRASE_SHARE. If the share is at least _PHRASE_MOSTLY, the phrase is proposed before the single word.
_PHRASE_SHARE, _PHRASE_MOSTLY = 0.2, 0.5


@dataclass(frozen=True, slots=True)
class TermCandidate:
    """A part of the context that may translate the term; a higher score is better.

    `aligned` is true if the part is aligned with the source term. `both` is true if it is aligned in both directions,
    and `whole` is true if it is aligned with all words of the source term. `known` is the number of other items that
    have this term. `untranslated` is true if the part has a word of the source.
    """

    text: str
    score: float
    aligned: bool = False
    both: bool = False
    whole: bool = False
    known: int = 0
    untranslated: bool = False


@dataclass(frozen=True, slots=True)
class AlignedTermSearch:
    """The search for the translation of a term in one aligned context.

    `covered` are the indexes of the source term's tokens in the source context.
    """

    sentence: str
    term: str
    source_term: str
    covered: set[int]
    aligned: AlignedPair
    usage: TermUsage

    def add_alignment(self, candidate: TermCandidate) -> TermCandidate:
        """Return the candidate with its alignment: a better score if words of it are aligned with the source term."""
        span = find_whole_words(self.sentence, candidate.text)
        if span is None:
            return candidate
        target = self.aligned.target
        inside = {place for place, token in enumerate(target) if token.start < span[1] and token.end > span[0]}
        links = {both: self.aligned.find_linked_words(self.covered, both=both) & inside for both in (True, False)}
        if not links[False]:
            return candidate
        coverage = self._compute_coverage(sorted(inside))
        score = candidate.score + (_BOTH if links[True] else _EITHER) * coverage
        return replace(candidate, score=score, aligned=True, both=bool(links[True]), whole=coverage == 1)

    def find_candidates(self, *, both: bool) -> Iterator[TermCandidate]:
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
            score += _SPELLING * compute_similarity(text, self.term)
            yield TermCandidate(text, score, aligned=True, both=both, whole=coverage == 1)
            share = self._compute_phrase_share(run[0])
            if share >= _PHRASE_SHARE:
                # The small difference ranks the phrase directly before or directly after the word alone.
                score += 0.01 if share >= _PHRASE_MOSTLY else -0.01
                phrase = self.sentence[target[run[0] - 1].start : end]
                yield TermCandidate(phrase, score, aligned=True, both=both, whole=coverage == 1)

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
        if before.text == BLANK or not has_no_other_link(self.aligned, first - 1, self.covered):
            return 0.0
        return self.usage.compute_phrase_share(self.source_term, before.text, word.text)


def find_similar_runs(term: str, sentence: str) -> Iterator[TermCandidate]:
    """Yield the sequences of words whose spelling is very similar to the term.

    >>> [run.text for run in find_similar_runs("joueur d'échecs", "Les joueurs d'échecs dansaient.")]
    ["joueurs d'échecs"]
    """
    spans, count = find_word_spans(sentence), len(find_word_spans(term))
    best: dict[int, TermCandidate] = {}
    for length in range(max(1, count - 1), count + 2):
        for first, last in zip(spans, spans[length - 1 :], strict=False):
            text = sentence[first[0] : last[1]]
            if BLANK in text or abs(len(text) - len(term)) > len(term) * 0.4:
                continue
            similarity = compute_similarity(text, term)
            if similarity >= HIGH_SIMILARITY and (first[0] not in best or best[first[0]].score < 2 + similarity):
                best[first[0]] = TermCandidate(text, 2 + similarity)
    # A sequence with an additional word at its start, such as an article, is less similar than the sequence without it.
    found = sorted(best.values(), key=lambda candidate: -candidate.score)
    yield from found[:1]


def find_known_forms(sentence: str, forms: Mapping[str, int]) -> Iterator[tuple[TermCandidate, int]]:
    """Yield the terms of other items that are whole words of a sentence, with the number of these items."""
    for form, count in forms.items():
        if (span := find_whole_words(sentence, form)) is not None:
            yield TermCandidate(sentence[span[0] : span[1]], 1.5 + count / (count + 1)), count


def strip_outer_words(text: str, term: str, outer_words: Collection[str]) -> str:
    """Return a part of a sentence without articles and prepositions at its ends, unless the term has the same words.

    >>> strip_outer_words("les joueurs", "joueur", {"le", "les"}), strip_outer_words("La Mecque", "La Mecque", {"la"})
    ('joueurs', 'La Mecque')
    """
    words, own = find_word_spans(text), [fold_case(word) for word in split_words(term)]
    folded = [fold_case(text[start:end]) for start, end in words]
    first, last = 0, len(words)
    while last - first > 1 and folded[first] in outer_words and folded[first] != own[0]:
        first += 1
    while last - first > 1 and folded[last - 1] in outer_words and folded[last - 1] != own[-1]:
        last -= 1
    return text[words[first][0] : words[last - 1][1]] if words and own and (first, last) != (0, len(words)) else text


def compute_similarity(word: str, term: str) -> float:
    """Return the similarity of the spelling of two texts, from 0 to 1; 0 if their comparison takes too long."""
    try:
        return BoundedMatcher(fold_case(word), fold_case(term)).ratio()
    except MatchingLimitError:
        return 0.0
