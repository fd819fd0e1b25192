"""Find the words of a sentence whose spelling is closest to a term."""

from difflib import get_close_matches

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.forms.word_difference import find_word_spans

# Minimum similarity of a word and a term, as in Öztürk's thesis (2022, section 3.1.4). The thesis leaves out terms of
# several words; here the same minimum applies to these terms.
_MIN_SIMILARITY = 0.4


def find_closest_words(term: str, sentence: str) -> list[str]:
    """Return the words of a sentence whose spelling is closest to a term: at most three, closest first.

    For a term of several words, return sequences of words that have as many words as the term.

    >>> find_closest_words("Norwegisch", "Die BLANK Norweger tanzten.")
    ['Norweger']
    >>> find_closest_words("junger Koch", "Sie ist eine junge Köchin.")
    ['junge Köchin', 'eine junge']
    """
    spans = find_word_spans(sentence)
    length = max(1, len(find_word_spans(term)))
    by_folded: dict[str, str] = {}
    for first, last in zip(spans, spans[length - 1 :], strict=False):
        run = sentence[first[0] : last[1]]
        if BLANK not in run:
            by_folded.setdefault(fold_case(run), run)
    matches = get_close_matches(fold_case(term), list(by_folded), n=3, cutoff=_MIN_SIMILARITY)
    return [by_folded[match] for match in matches]
