"""Frames: texts that quote a sentence and name its speaker, in the language of the sentence.

A GEST item that is not in English has two frames, such as `„{sentence}“, sagte er.` and `„{sentence}“, sagte sie.`
"""

import re
from typing import NamedTuple

SENTENCE = "{sentence}"
# The name of the benchmark part for items with frames (texts that quote a sentence).
FRAME = "frame"
BAD_FRAME = {
    "bad-frame": "only one of two frames, a frame without {sentence}, or two frames without a distinguishing word"
}

_TOKENS = re.compile(r"\{sentence\}|\w+|\s+|[^\w\s]")


class FrameWords(NamedTuple):
    """Two frames (texts that quote a sentence), split into common text, the words that differ, and common text."""

    before: str
    male: str
    female: str
    after: str

    def fill(self, sentence: str) -> "FrameWords":
        """Return the two frames with `sentence` in place of the placeholder `{sentence}`."""
        before, after = (text.replace(SENTENCE, sentence) for text in (self.before, self.after))
        return FrameWords(before, self.male, self.female, after)


def find_differing_words(male: str, female: str) -> FrameWords:
    """Split two frames (texts that quote a sentence) into the common text and the words in which they differ.

    >>> find_differing_words('"{sentence}", dit l’homme.', '"{sentence}", dit la femme.')
    FrameWords(before='"{sentence}", dit ', male='l’homme', female='la femme', after='.')
    """
    first, second = _TOKENS.findall(male), _TOKENS.findall(female)
    shortest = min(len(first), len(second))
    start = next((i for i in range(shortest) if first[i] != second[i]), shortest)
    end = next((i for i in range(shortest - start) if first[-1 - i] != second[-1 - i]), shortest - start)
    return FrameWords(
        "".join(first[:start]),
        "".join(first[start : len(first) - end]),
        "".join(second[start : len(second) - end]),
        "".join(first[len(first) - end :]),
    )


def find_frame_problem(male: str, female: str) -> str | None:
    """Return the reason why two frames (texts that quote a sentence) cannot be compared; None if they can be.

    >>> find_frame_problem('"{sentence}", dijo.', '"{sentence}", dijo.')
    'the two frames are the same'
    >>> find_frame_problem('"{sentence}", va dir.', '"{sentence}", va dir ella.')
    'one frame has no word that the other lacks'
    """
    if not male or not female:
        return "male_frame and female_frame must both be given, or neither"
    if any(frame.count(SENTENCE) != 1 for frame in (male, female)):
        return f"a frame must contain {SENTENCE} exactly once"
    words = find_differing_words(male, female)
    if SENTENCE in words.male or SENTENCE in words.female:
        return "the two frames must not differ on both sides of the sentence"
    if words.male == words.female:
        return "the two frames are the same"
    return None if words.male.strip() and words.female.strip() else "one frame has no word that the other lacks"
