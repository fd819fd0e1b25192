"""The visible part of a text: without white space and invisible characters."""

import unicodedata

# The validation finding for two texts with the same visible part, with its meaning.
INVISIBLE = {
    "invisible-difference": "texts that should differ in words, and differ only in white space or invisible characters"
}


def extract_visible_text(text: str) -> str:
    """A text in NFC without white space and without control and format characters.

    >>> extract_visible_text("My aunt\u200b knits. ") == extract_visible_text("My aunt  knits.")
    True
    """
    composed = unicodedata.normalize("NFC", text)
    return "".join(c for c in composed if not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf"))
