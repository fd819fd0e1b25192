"""Functions that shorten texts from data and replace unsafe characters in them, for display.

The texts are not yet escaped for HTML; templates and scripts escape them.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

from tiltmeter.printable_text import escape_unsafe

LABEL = 60  # maximum number of characters in a name
TEXT = 1_000  # maximum number of characters in a sentence

# Matches an absolute path, a path relative to the current or home folder, or the name of a data or model file.
_PATH = re.compile(r"(?:chat:)?(/|\.{1,2}[/\\]|~|[A-Za-z]:[/\\])|.*\.(jsonl|gguf)$")


def clip_text(text: str, limit: int = TEXT) -> str:
    """Return the text; if it is longer than `limit`, return its first `limit` characters and its length.

    >>> clip_text("a" * 2000, 10)
    'aaaaaaaaaa… (2,000 characters)'
    """
    if len(text) <= limit:
        return escape_unsafe(text)
    return f"{escape_unsafe(text[:limit])}… ({len(text):,} characters)"


def shorten_names(names: Iterable[str]) -> dict[str, str]:
    """Return a mapping of names to short names for reports: a path is cut to the shortest end that is unique.

    Reports are shared, so they should not reveal the folders of a machine. Names that are not paths are unchanged, and
    different names stay different.

    >>> shorten_names(["/home/ada/models/bert-tiny", "gpt2", "dbmdz/german-gpt2"])
    {'/home/ada/models/bert-tiny': 'bert-tiny', 'gpt2': 'gpt2', 'dbmdz/german-gpt2': 'dbmdz/german-gpt2'}
    >>> list(shorten_names(["/home/ada/first/step-10", "/home/ada/second/step-10"]).values())
    ['first/step-10', 'second/step-10']
    """
    pieces = {name: re.split(r"[/\\]", name.rstrip("/\\")) for name in names}
    ends = Counter(tuple(parts[at:]) for parts in pieces.values() for at in range(len(parts)))

    def shorten(name: str) -> str:
        parts = pieces[name]
        unique = (at for at in reversed(range(1, len(parts))) if ends[tuple(parts[at:])] == 1)
        return "/".join(parts[at:]) if _PATH.match(name) and (at := next(unique, 0)) else name

    labels = {name: format_label(shorten(name)) for name in pieces}
    taken = Counter(labels.values())
    return {name: label if taken[label] == 1 else f"{label} #{_compute_digest(name)}" for name, label in labels.items()}


def format_label(text: str, limit: int = LABEL) -> str:
    """Return a name, cut after `limit` characters; a hash after the cut keeps different names different.

    >>> format_label("nurse")
    'nurse'
    >>> format_label("n" * 80, 8)
    'nnnnnnnn… #feed93'
    """
    text = " ".join(text.split())
    if len(text) <= limit:
        return escape_unsafe(text)
    return f"{escape_unsafe(text[:limit])}… #{_compute_digest(text)}"


def _compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:6]
