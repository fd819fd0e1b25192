"""The gender of the third-person pronouns in an English text.

In a translation from a language whose pronouns do not mark gender, the translation system has added this gender.
"""

import re

from tiltmeter.gender import SpeakerGender
from tiltmeter.gender.clauses import FEMININE, MASCULINE

_PRONOUNS = {
    "he": MASCULINE,
    "him": MASCULINE,
    "his": MASCULINE,
    "himself": MASCULINE,
    "she": FEMININE,
    "her": FEMININE,
    "hers": FEMININE,
    "herself": FEMININE,
}
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)


def find_english_gender(text: str) -> SpeakerGender:
    """Return the gender of the third-person pronouns; the gender is None for no pronoun or both genders ("he or she").

    >>> find_english_gender("She's a pilot.")
    SpeakerGender(gender='feminine', cue=('she',), rule='pronoun')
    >>> find_english_gender("He/she is a pilot.").gender is None, find_english_gender("They fly.").gender is None
    (True, True)
    """
    cue = tuple(word for word in map(str.lower, _WORD.findall(text)) if word in _PRONOUNS)
    genders = {_PRONOUNS[word] for word in cue}
    return SpeakerGender(genders.pop(), cue, "pronoun") if len(genders) == 1 else SpeakerGender(None)
