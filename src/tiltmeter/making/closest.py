"""The words of a sentence that are spelt most like a term."""

from difflib import get_close_matches

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.forms.word_difference import words

# As in Öztürk's thesis (2022, section 3.1.4).
CUTOFF = 0.4


def closest_words(term: str, sentence: str, *, count: int = 3, cutoff: float = CUTOFF) -> list[str]:
    """The words of the sentence that are most like the term, best first; none for a term of several words.

    >>> closest_words("Norwegisch", "Die BLANK Norweger tanzten.")
    ['Norweger']
    >>> closest_words("darstellender Künstler", "Ein darstellender Künstler war BLANK.")
    []
    """
    if len(term.split()) != 1:
        return []
    by_folded: dict[str, str] = {}
    for word in words(sentence):
        if word != BLANK:
            by_folded.setdefault(fold_case(word), word)
    matches = get_close_matches(fold_case(term), list(by_folded), n=count, cutoff=cutoff)
    return [by_folded[match] for match in matches]
