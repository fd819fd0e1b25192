"""Text from data made safe to display: `visible`, and of a limited length.

Escaping is left to the template and the script, which know where the text goes.
"""

import hashlib
import re
from collections.abc import Iterable

from tiltmeter.printable import visible

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
        return visible(text)
    return f"{visible(text[:limit])}… ({len(text):,} characters)"


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Short names for reports: the last component of each path, if it is unique; other names are unchanged.

    A report is shown to others, so it should not show the folders of the machine it was made on.

    >>> short_names(["/home/ada/models/bert-tiny", "gpt2", "dbmdz/german-gpt2"])
    {'/home/ada/models/bert-tiny': 'bert-tiny', 'gpt2': 'gpt2', 'dbmdz/german-gpt2': 'dbmdz/german-gpt2'}
    """
    names = list(dict.fromkeys(names))
    short = {name: re.split(r"[/\\]", name.rstrip("/\\"))[-1] if _PATH.match(name) else name for name in names}
    taken = list(short.values())
    return {name: label(last if taken.count(last) == 1 else name) for name, last in short.items()}


def label(text: str, limit: int = LABEL) -> str:
    """A name of at most `limit` characters; one that is cut ends in the beginning of its hash, to stay distinct.

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
