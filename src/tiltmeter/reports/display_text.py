"""Text from data made safe to display: `escape_unsafe`, and of a limited length.

Escaping is left to the template and the script, which know where the text goes.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

from tiltmeter.printable_text import escape_unsafe

LABEL = 60  # longest name on an axis or in a list, in characters
TEXT = 1_000  # longest sentence, in characters

# A path that is absolute, relative to here or to home, or a file of items or weights; of a chat model, too.
_PATH = re.compile(r"(?:chat:)?(/|\.{1,2}[/\\]|~|[A-Za-z]:[/\\])|.*\.(jsonl|gguf)$")


def clip(text: str, limit: int = TEXT) -> str:
    """The text, or its beginning and its length if it is longer than `limit`.

    >>> clip("a" * 2000, 10)
    'aaaaaaaaaa… (2,000 characters)'
    """
    if len(text) <= limit:
        return escape_unsafe(text)
    return f"{escape_unsafe(text[:limit])}… ({len(text):,} characters)"


def shorten_names(names: Iterable[str]) -> dict[str, str]:
    """Short names for reports: of each path, as many of its last components as no other name ends with.

    A report is shown to others, so it should not show the folders of the machine it was made on. Other names are
    unchanged, and different names stay different.

    >>> shorten_names(["/home/ada/models/bert-tiny", "gpt2", "dbmdz/german-gpt2"])
    {'/home/ada/models/bert-tiny': 'bert-tiny', 'gpt2': 'gpt2', 'dbmdz/german-gpt2': 'dbmdz/german-gpt2'}
    >>> list(shorten_names(["/home/ada/first/step-10", "/home/ada/second/step-10"]).values())
    ['first/step-10', 'second/step-10']
    """
    pieces = {name: re.split(r"[/\\]", name.rstrip("/\\")) for name in names}
    ends = Counter(tuple(found[at:]) for found in pieces.values() for at in range(len(found)))

    def short(name: str) -> str:
        found = pieces[name]
        unique = (at for at in reversed(range(1, len(found))) if ends[tuple(found[at:])] == 1)
        return "/".join(found[at:]) if _PATH.match(name) and (at := next(unique, 0)) else name

    labels = {name: format_label(short(name)) for name in pieces}
    taken = Counter(labels.values())
    return {name: shown if taken[shown] == 1 else f"{shown} #{_compute_digest(name)}" for name, shown in labels.items()}


def format_label(text: str, limit: int = LABEL) -> str:
    """A name of at most `limit` characters; one that is cut ends in the beginning of its hash, to stay distinct.

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
