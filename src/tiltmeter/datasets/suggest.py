"""The nearest word to a misspelt one."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """A remark to put after a word that is not known, or nothing.

    >>> did_you_mean("sterioset", ["gest", "stereoset"])
    ' (did you mean stereoset?)'
    """
    near = get_close_matches(word, list(words), n=1)
    return f" (did you mean {near[0]}?)" if near else ""
