"""The visible part of a text: without spaces and invisible characters."""

import unicodedata

# The validation finding for two texts whose visible parts are equal.
INVISIBLE = {
    "invisible-difference": "texts that should differ in words, but differ only in spaces or invisible characters"
}


def extract_visible_text(text: str) -> str:
    """Return a text in NFC without spaces, control characters and format characters.

    >>> extract_visible_text("My aunt\u200b knits. ") == extract_visible_text("My aunt  knits.")
    True
    """
    if text.isascii() and text.isprintable():
        return text.replace(" ", "")
    composed = unicodedata.normalize("NFC", text)
    return "".join(c for c in composed if not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf"))
