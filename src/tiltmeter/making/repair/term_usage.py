"""How the contexts of a project translate each source term: counts of aligned words, and of terms."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tiltmeter.forms.case_folding import find_folded, fold_case
from tiltmeter.forms.word_difference import find_word_spans, split_words
from tiltmeter.making.draft import Draft
from tiltmeter.making.repair.repair_resources import RepairResources
from tiltmeter.translators.word_alignment import AlignedPair

# The minimum number of contexts in which a word precedes the translation of a term, for a phrase to be proposed.
_PHRASE_COUNT = 3


@dataclass(frozen=True, slots=True)
class TermUsage:
    """Counts of words in the contexts of all drafts.

    `words` counts each word. `linked` counts each word that translates a source term (keys: term, word). `preceded`
    counts such words together with the word before (keys: term, word before, word), but only if the word before
    translates no other source word. `forms` counts, for each source term, the target terms that are whole words of
    their contexts.
    """

    words: Counter[str] = field(default_factory=Counter)
    linked: Counter[tuple[str, str]] = field(default_factory=Counter)
    preceded: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    forms: dict[str, Counter[str]] = field(default_factory=dict)

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


def count_usage(drafts: Sequence[Draft], resources: RepairResources) -> TermUsage:
    """Count how the contexts of drafts translate their terms."""
    usage = TermUsage()
    for draft in drafts:
        for name, context in list_term_fields(draft):
            term = fold_case(draft.source[name])
            if find_whole_words(draft.texts[context], draft.texts[name]) is not None:
                usage.forms.setdefault(term, Counter())[fold_case(draft.texts[name])] += 1
            aligned = resources.alignment.get_alignment(draft, context)
            if aligned is None:
                continue
            words = [fold_case(token.text) for token in aligned.target]
            covered = find_source_tokens(draft, name, context, aligned)
            linked = aligned.find_linked_words(covered, both=True)
            usage.words.update(words)
            usage.linked.update((term, words[place]) for place in linked)
            for place in linked:
                if place and has_no_other_link(aligned, place - 1, covered):
                    usage.preceded[term, words[place - 1], words[place]] += 1
    return usage


def has_no_other_link(aligned: AlignedPair, place: int, covered: set[int]) -> bool:
    """Tell whether the target token at index `place` is linked only with source tokens in `covered`."""
    links = aligned.forward | aligned.reverse
    return all(source in covered for source, target in links if target == place)


def find_whole_words(text: str, part: str) -> tuple[int, int] | None:
    """Return the start and end of the first occurrence of `part` as whole words of a text, ignoring case.

    >>> find_whole_words("Die Köchinnen sind mit der Köchin da.", "köchin")
    (27, 33)
    """
    words = find_word_spans(text)
    wanted = [fold_case(word) for word in split_words(part)]
    folded = [fold_case(text[start:end]) for start, end in words]
    for first in range(len(words) - len(wanted) + 1) if wanted else ():
        if folded[first : first + len(wanted)] == wanted:
            return words[first][0], words[first + len(wanted) - 1][1]
    return None


def list_term_fields(draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield the fields of the target term and of its context; nothing if the form of the item has no term."""
    name, context = draft.get_single_field("term"), draft.get_single_field("context")
    if name is not None and context is not None:
        yield name, context


def find_source_tokens(draft: Draft, name: str, context: str, aligned: AlignedPair) -> set[int]:
    """Return the indexes of the source context's tokens that overlap with the source term.

    For example, the token "Ethiopian" overlaps with the term "Ethiopia".
    """
    span = find_folded(draft.source[context], draft.source[name])
    if span is None:
        return set()
    return {place for place, token in enumerate(aligned.source) if token.start < span[1] and token.end > span[0]}
