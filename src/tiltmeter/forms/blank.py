"""BLANK: the place in a context where a candidate word goes."""

import re
import string

BLANK = "BLANK"
_EDGES = string.whitespace + string.punctuation + "“”„‘’«»‹›…–—¿¡"


def fill(context: str, word: str) -> str:
    """The context with `word` in every place of BLANK, as the released code of StereoSet fills it.

    >>> fill("The gardener was BLANK.", "patient")
    'The gardener was patient.'
    """
    return context.replace(BLANK, word)


def word_in(context: str, sentence: str) -> str | None:
    """The word that `sentence` has in the first place of BLANK, or None if it cannot be told.

    What stands around BLANK is taken away from the sentence, whatever its capitals, since StereoSet's sentences
    often lose those of their context. Where that does not fit, the word is looked up by its number in the sentence,
    which is the rule of StereoSet's own code. Punctuation at its ends is not part of the word.

    >>> word_in("In Lisbon the gardener was BLANK.", "In lisbon the gardener was fond of roses.")
    'fond of roses'
    >>> word_in("The gardener was BLANK today.", "The gardener is patient, really.")
    'patient'
    """
    pattern = "(.+?)".join(map(re.escape, context.split(BLANK)))
    if match := re.fullmatch(pattern, sentence, re.IGNORECASE | re.DOTALL):
        return match[1].strip(_EDGES) or None
    number = next(number for number, word in enumerate(context.split()) if BLANK in word)
    words = sentence.split()
    return (words[number].strip(_EDGES) or None) if number < len(words) else None
