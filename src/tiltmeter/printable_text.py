"""Escape control and bidirectional characters in data, names and messages before they are printed.

In a terminal, such characters can move the cursor, hide text or write to the clipboard.
"""

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# Bidirectional embeddings, overrides and isolates reorder the text around them, so they are escaped. Marks (LRM, RLM)
# and joiners reorder nothing and many scripts need them, so they are kept. Lone surrogates are escaped because they
# cannot be encoded as UTF-8. Tabs and line feeds are harmless.
_UNSAFE = re.compile(
    "[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff\ufffe\uffff]"
)


def escape_unsafe(text: str) -> str:
    """Return the text with each unsafe character replaced by its code point.

    >>> escape_unsafe("abc\\u202edef\\x1b[8m")
    'abc⟨U+202E⟩def⟨U+001B⟩[8m'
    """
    return _UNSAFE.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def format_json(value: Any, indent: int | None = 1) -> str:
    """Return the value as JSON; characters that `escape_unsafe` would replace become JSON escapes.

    >>> format_json({"name": "caf\\xe9\\x9b\\u202e"}, indent=None)
    '{"name": "café\\\\u009b\\\\u202e"}'
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    # JSON contains these characters only inside strings, where the escape `\uXXXX` is allowed.
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def escape_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a table (column to value) with `escape_unsafe` applied to each value that is a text."""
    return {name: escape_unsafe(value) if isinstance(value, str) else value for name, value in row.items()}


def create_plain_console(**options: Any) -> "Console":
    """Return a Rich console without markup and emoji codes: `[bold]` and `:smile:` are printed literally."""
    from rich.console import Console  # imported here, because importing rich slows short commands

    return Console(markup=False, emoji=False, **options)
