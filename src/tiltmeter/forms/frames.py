"""Frames: the words around a quoted sentence that name its speaker, in the sentence's own language.

A GEST item in another language than English brings two, such as `„{sentence}“, sagte er.` and `„{sentence}“, sagte
sie.`; they differ in the words for a man and for a woman.
"""

import re
from typing import NamedTuple

SENTENCE = "{sentence}"
# The part of the benchmark in which items with frames are asked.
FRAME = "frame"
BAD_FRAME = {"bad-frame": "a frame without its other half or without {sentence}, or two that cannot be told apart"}

_TOKENS = re.compile(r"\{sentence\}|\w+|\s+|[^\w\s]")


class FrameWords(NamedTuple):
    """Two frames divided into the text before the words that differ, these words, and the text after them."""

    before: str
    male: str
    female: str
    after: str

    def filled(self, sentence: str) -> "FrameWords":
        """The same with a sentence in its place."""
        before, after = (text.replace(SENTENCE, sentence) for text in (self.before, self.after))
        return FrameWords(before, self.male, self.female, after)


def split_frames(male: str, female: str) -> FrameWords:
    """Where two frames differ, in whole words.

    >>> split_frames('"{sentence}", dit l’homme.', '"{sentence}", dit la femme.')
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
    """What is wrong with two frames; None if nothing is.

    >>> find_frame_problem('"{sentence}", dijo.', '"{sentence}", dijo.')
    'the two frames are the same'
    >>> find_frame_problem('"{sentence}", va dir.', '"{sentence}", va dir ella.')
    'one frame has no word that the other lacks'
    """
    if not male or not female:
        return "there should be a male_frame and a female_frame, or neither"
    if any(frame.count(SENTENCE) != 1 for frame in (male, female)):
        return f"a frame should have {SENTENCE} once"
    words = split_frames(male, female)
    if SENTENCE in words.male or SENTENCE in words.female:
        return "the two frames should differ on one side of the sentence only"
    if words.male == words.female:
        return "the two frames are the same"
    return None if words.male.strip() and words.female.strip() else "one frame has no word that the other lacks"
