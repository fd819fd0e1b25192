"""Text from data, names and messages made safe to print: control and bidirectional characters shown by code point.

A terminal obeys control characters: they can move the cursor, hide what stands beside them, or fill the clipboard.
"""

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# Bidirectional embeddings, overrides and isolates reorder the text around them. Marks (LRM, RLM) and joiners do not,
# and many scripts need them. Lone surrogates cannot be encoded as UTF-8. Tabs and line feeds are harmless.
_UNSAFE = re.compile("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff]")


def escape_unsafe(text: str) -> str:
    """The text with characters that would reorder or break it, or command a terminal, replaced by their code points.

    >>> escape_unsafe("abc\\u202edef\\x1b[8m")
    'abc⟨U+202E⟩def⟨U+001B⟩[8m'
    """
    return _UNSAFE.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def format_json(value: Any, indent: int | None = 1) -> str:
    """The value as JSON that is safe to print; the characters that `escape_unsafe` replaces are escaped.

    >>> format_json({"name": "caf\\xe9\\x9b\\u202e"}, indent=None)
    '{"name": "café\\\\u009b\\\\u202e"}'
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    # Between strings JSON has none of these characters, besides line feeds.
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def escape_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table for people, with its texts made safe to print."""
    return {name: escape_unsafe(value) if isinstance(value, str) else value for name, value in row.items()}


def create_plain_console(**options: Any) -> "Console":
    """A console of Rich that takes texts as they are: `[bold]` and `:smile:` in data are no styles and no pictures."""
    from rich.console import Console  # some commands do without it

    return Console(markup=False, emoji=False, **options)
