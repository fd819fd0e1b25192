"""Characters that are probably unintended: leading, trailing or double spaces, invisible characters."""

import re
import unicodedata
from collections.abc import Iterator

from tiltmeter.forms import Problem

_ODD_SPACE = re.compile(r"\s\s|[^\S ]")
# Allowed characters: zero-width joiners and non-joiners are part of the spelling of Persian, Hindi and other languages.
_JOINERS = "\u200c\u200d"


def find_suspicious_characters(field: str, text: str) -> Iterator[Problem]:
    """Yield a problem for each type of suspicious character in a text.

    >>> [problem.code for problem in find_suspicious_characters("sentence", "I  sang. ")]
    ['outer-space', 'odd-space']
    """
    if text != text.strip():
        yield Problem("outer-space", field, "has spaces before or after the text")
    if text.isprintable() and "  " not in text:
        return  # the usual case: nothing else has to be checked
    if odd := _ODD_SPACE.search(text.strip()):
        yield Problem("odd-space", field, f"contains the space {_format_code_points(odd[0])}")
    invisible = [c for c in text if unicodedata.category(c)[0] == "C" and c not in _JOINERS and not c.isspace()]
    if invisible:
        yield Problem(
            "control-character", field, f"contains the invisible character {_format_code_points(invisible[0])}"
        )


def _format_code_points(text: str) -> str:
    return " ".join(f"U+{ord(character):04X}" for character in text)
