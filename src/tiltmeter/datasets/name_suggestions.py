"""Suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggest_name(word: str, words: Iterable[str]) -> str:
    """Return a text that suggests the most similar of `words`, or an empty string if none is similar.

    >>> suggest_name("sterioset", ["gest", "stereoset"])
    ' (did you mean stereoset?)'
    """
    matches = get_close_matches(word, list(words), n=1)
    return f" (did you mean {matches[0]}?)" if matches else ""
