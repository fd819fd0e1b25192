"""Names of figures, which are parts of the names of their files."""

import re
from collections.abc import Iterable

from tiltmeter.reports.display_text import format_label

_LONGEST = 120  # maximum number of characters in a slug


def build_slug(words: Iterable[str]) -> str:
    """Return words as one lower-case name without special characters.

    >>> build_slug(["org/Model", "", "en", "SS"])
    'org-model-en-ss'
    """
    return re.sub(r"[^\w.]+", "-", " ".join(filter(None, words))).strip("-").lower()[:_LONGEST]


def choose_unique_slug(slug: str, taken: set[str]) -> str:
    """Return the slug, with a number if it is taken, and add the result to `taken`.

    >>> taken = {"en-ss"}
    >>> choose_unique_slug("en-ss", taken), choose_unique_slug("en-ss", taken)
    ('en-ss-2', 'en-ss-3')
    """
    unique, number = slug, 2
    while unique in taken:
        unique, number = f"{slug}-{number}", number + 1
    taken.add(unique)
    return unique


def format_benchmark_name(benchmark: str) -> str:
    """Return the name of a benchmark for the name of a file."""
    return re.sub(r"[^\w.-]+", "-", format_label(benchmark))
