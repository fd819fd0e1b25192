"""Data set specifications: `name`, `name/part`, `name:language,language`, or the path of a file or published folder."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tiltmeter.datasets.column_mapping import is_table, split_columns
from tiltmeter.errors import UsageError
from tiltmeter.forms import get_forms
from tiltmeter.text_files import expand_home

# The file with the items in a folder written by `tiltmeter make publish`.
PUBLISHED_ITEMS = "items.jsonl"
# Maps each edition (published version) of GEST to the name of its data set.
EDITIONS = {"1.0": "gest-1.0", "1.1": "gest"}


@dataclass(frozen=True, slots=True)
class Spec:
    """A data set or file, optionally restricted to one part and to some languages.

    Empty `languages` means all languages. `path` is set if `name` is the path of a file. `columns`
    are the columns of fields in a table, if the user named them.
    """

    name: str
    part: str | None
    languages: tuple[str, ...]
    path: Path | None = None
    columns: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def parse_spec(text: str) -> Spec:
    """Parse a specification. Whether the data set, part and languages exist is checked later, when they are loaded.

    >>> parse_spec("stereoset/intrasentence:de,fr")
    Spec(name='stereoset', part='intrasentence', languages=('de', 'fr'), path=None)
    >>> parse_spec("my-items.jsonl").path.name
    'my-items.jsonl'
    """
    without, columns = split_columns(text)
    if columns:
        return replace(parse_spec(without), columns=columns)
    if _is_path(text):
        return Spec(text.rstrip("/"), None, (), _expand_path(text))
    name, colon, tail = text.rpartition(":")
    name = name if colon else text
    languages = tuple(dict.fromkeys(filter(None, map(str.strip, tail.split(","))))) if colon else ()
    if colon and not languages:
        raise UsageError(f"{text!r} names no language after the colon; write, for example, stereoset:en,de.")
    if _is_path(name):
        return Spec(name, None, languages, _expand_path(name))
    before, slash, part = name.rpartition("/")
    if slash and any(part in form.parts for form in get_forms().values()) and _is_path(before):
        return Spec(before, part, languages, _expand_path(before))
    if slash and ("/" in before or before in ("", ".", "..", "~")):
        raise UsageError(f"There is no file {name}.")
    if not name.strip():
        raise UsageError(f"{text!r} names no data set; write, for example, stereoset:en,de.")
    return Spec(before, part, languages) if slash else Spec(name, None, languages)


def replace_edition(texts: Sequence[str], edition: str | None) -> list[str]:
    """Return specifications in which an edition (version) of GEST replaces `gest`; `edition=None` changes nothing.

    >>> replace_edition(["gest/template-3:en", "stereoset"], "1.0")
    ['gest-1.0/template-3:en', 'stereoset']
    """
    if edition is None:
        return list(texts)
    if edition not in EDITIONS:
        raise UsageError(f"GEST has no edition {edition!r}; it has {' and '.join(EDITIONS)}.")
    specs = {text: parse_spec(text) for text in texts}
    gest = {text: spec.name for text, spec in specs.items() if spec.path is None and spec.name in EDITIONS.values()}
    if not gest:
        raise UsageError(
            f"Only GEST has editions, but none of {', '.join(texts)} is GEST; add gest, or omit the edition."
        )
    return [EDITIONS[edition] + text.removeprefix(gest[text]) if text in gest else text for text in texts]


def _is_path(text: str) -> bool:
    # A slash alone does not make a text a path: `stereoset/intrasentence` also contains a slash.
    separators = filter(None, (os.sep, os.altsep, "/"))
    has_separator = any(separator in text for separator in separators)
    return text.endswith(".jsonl") or is_table(text) or (has_separator and _expand_path(text).is_file())


def _expand_path(text: str) -> Path:
    path = expand_home(text)
    return path / PUBLISHED_ITEMS if (path / PUBLISHED_ITEMS).is_file() else path
