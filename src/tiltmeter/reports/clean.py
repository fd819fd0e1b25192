"""Text from data, made safe to look at: nothing that turns the page around, and nothing without end.

Escaping is not done here: the template and the script do that where the text is put into the page.
"""

import hashlib
import re
from collections.abc import Iterable

LABEL = 60  # characters of a name on an axis or in a list
TEXT = 1_000  # characters of a sentence

# Embeddings, overrides and isolates reorder what stands around them. Plain marks (LRM, RLM) and joiners do not, and
# many scripts need those. Lone surrogates cannot be written as UTF-8.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff]")


# A path from the root, from here or from home, or a file of items or weights.
_PATH = re.compile(r"(/|\.{1,2}[/\\]|~|[A-Za-z]:[/\\])|.*\.(jsonl|gguf)$")


def visible(text: str) -> str:
    """The text with the characters that would reorder or break it shown by their numbers.

    >>> visible("abc\\u202edef")
    'abc⟨U+202E⟩def'
    """
    return _TURNING.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def clip(text: str, limit: int = TEXT) -> str:
    """The text, or its beginning and a note of how long it was.

    >>> clip("a" * 2000, 10)
    'aaaaaaaaaa… (2,000 characters)'
    """
    if len(text) <= limit:
        return visible(text)
    return f"{visible(text[:limit])}… ({len(text):,} characters)"


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Paths by their last part, where that is enough to tell them apart; other names as they are.

    A report is to be shown to others, who need not know where things lie on the machine it was made on.

    >>> short_names(["/home/ada/models/bert-tiny", "gpt2", "dbmdz/german-gpt2"])
    {'/home/ada/models/bert-tiny': 'bert-tiny', 'gpt2': 'gpt2', 'dbmdz/german-gpt2': 'dbmdz/german-gpt2'}
    """
    names = list(dict.fromkeys(names))
    short = {name: re.split(r"[/\\]", name.rstrip("/\\"))[-1] if _PATH.match(name) else name for name in names}
    taken = list(short.values())
    return {name: label(last if taken.count(last) == 1 else name) for name, last in short.items()}


def label(text: str, limit: int = LABEL) -> str:
    """A name, short enough for an axis. Names that are cut stay different by the beginning of their hash.

    >>> label("nurse")
    'nurse'
    >>> label("n" * 80, 8)
    'nnnnnnnn… #feed93'
    """
    text = " ".join(text.split())
    if len(text) <= limit:
        return visible(text)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"{visible(text[:limit])}… #{digest[:6]}"
