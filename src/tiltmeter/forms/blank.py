"""The placeholder BLANK for a candidate word in a context."""

import re
import string

BLANK = "BLANK"
EDGES = string.whitespace + string.punctuation + "“”„‘’«»‹›…–—¿¡"


def fill_blank(context: str, word: str) -> str:
    """Replace every BLANK in the context by `word`, as the released code of StereoSet does.

    >>> fill_blank("The gardener was BLANK.", "patient")
    'The gardener was patient.'
    """
    return context.replace(BLANK, word)


def find_blank_word(context: str, sentence: str) -> str | None:
    """Return the word that replaces the first BLANK in `sentence`, or None if it cannot be determined.

    Upper and lower case are not distinguished, because sentences of StereoSet often do not keep the capitals of their
    context. If the text around BLANK does not match, the word at the index of BLANK is returned, as in the released
    code of StereoSet.

    >>> find_blank_word("In Lisbon the gardener was BLANK.", "In lisbon the gardener was fond of roses.")
    'fond of roses'
    >>> find_blank_word("The gardener was BLANK today.", "The gardener is patient, really.")
    'patient'
    """
    pattern = "(.+?)".join(map(re.escape, context.split(BLANK)))
    if match := re.fullmatch(pattern, sentence, re.IGNORECASE | re.DOTALL):
        return match[1].strip(EDGES) or None
    index = next(index for index, word in enumerate(context.split()) if BLANK in word)
    words = sentence.split()
    return (words[index].strip(EDGES) or None) if index < len(words) else None
