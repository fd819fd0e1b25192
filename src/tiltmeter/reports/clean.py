"""Text from data, made safe to look at: nothing that turns the page around, and nothing without end.

Escaping is not done here: the template and the script do that where the text is put into the page.
"""

import hashlib
import re

LABEL = 60  # characters of a name on an axis or in a list
TEXT = 1_000  # characters of a sentence

# Embeddings, overrides and isolates reorder what stands around them. Plain marks (LRM, RLM) and joiners do not, and
# many scripts need those. Lone surrogates cannot be written as UTF-8.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff]")


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
