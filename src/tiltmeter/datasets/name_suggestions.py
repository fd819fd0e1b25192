"""Suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggest_name(word: str, words: Iterable[str]) -> str:
    """Return a suggestion to append to an unknown name, or an empty string.

    >>> suggest_name("sterioset", ["gest", "stereoset"])
    ' (did you mean stereoset?)'
    """
    matches = get_close_matches(word, list(words), n=1)
    return f" (did you mean {matches[0]}?)" if matches else ""
