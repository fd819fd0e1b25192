"""The columns of a user's own table: which field each column contains, given by the user or guessed from its name.

A specification may contain the columns in brackets: `pairs.csv[more=Sentence A,less=Sentence B]:pl`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from tiltmeter.errors import UsageError

SUFFIXES = (".csv", ".tsv", ".xlsx")
_SPEC = re.compile(r"(?P<name>.+\.(?:csv|tsv|xlsx))\[(?P<columns>[^\[\]]*)\](?P<rest>:[^\[\]]*)?", re.IGNORECASE)
_NEXT = re.compile(r",(?=[a-z_-]+=)")
_SPECIAL = "%,[]=:"


@dataclass(frozen=True, slots=True)
class TableForm:
    """The fields of a form that a table can contain: required and optional ones."""

    required: tuple[str, ...]
    optional: tuple[str, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields, with those that all forms have."""
        return (*self.required, *self.optional, *COMMON)


COMMON = ("id", "language")
_STEREOTYPE = ("stereotype", "side", "stereotype_name", "sub_stereotype", "original")
# The forms in the order in which they are tried: a form is chosen if the table has all of its required fields.
TABLE_FORMS: Mapping[str, TableForm] = {
    "association": TableForm(
        ("context", "stereotype", "anti-stereotype", "unrelated", "target"), ("bias_type", "target_term", "part")
    ),
    "gendered-pairs": TableForm(("male", "female", "stereotype"), _STEREOTYPE[1:]),
    "gest": TableForm(("sentence", "stereotype"), _STEREOTYPE[1:]),
    "pairs": TableForm(("more", "less"), ("bias_type", "direction", "template", "subtype", "votes")),
    "own-prompts": TableForm(("prompt",), ("matches", "options", "gender", "scorer")),
}
# Names of columns for a field, in addition to the name of the field; in lower case, with _ between words.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("item", "item_id", "nr", "no", "number", "index"),
    "language": ("lang", "language_code"),
    "bias_type": ("bias", "category", "bias_category", "type"),
    "more": ("sent_more", "more_stereotypical", "stereotypical", "stereotype", "stereo", "sentence_more", "a_x"),
    "less": (
        *("sent_less", "less_stereotypical", "anti_stereotypical", "antistereotypical", "anti_stereotype"),
        *("antistereotype", "anti_stereo", "antistereo", "sentence_less", "b_x"),
    ),
    "direction": ("stereo_antistereo",),
    "stereotype": ("stereotypical", "stereotype_id", "stereotype_number", "stereo"),
    "anti-stereotype": ("anti_stereotype", "antistereotype", "anti_stereotypical", "anti_stereo", "antistereo"),
    "unrelated": ("meaningless", "nonsense"),
    "target": ("group", "target_group"),
    "sentence": ("text",),
    "male": ("masculine", "man", "male_sentence"),
    "female": ("feminine", "woman", "female_sentence"),
    "context": ("sentence_with_blank", "premise"),
}


def is_table(path: Path | str) -> bool:
    """Return whether the name of a file is that of a table: CSV, TSV or Excel.

    >>> is_table("Pairs.CSV"), is_table("items.jsonl")
    (True, False)
    """
    return str(path).lower().endswith(SUFFIXES)


def parse_columns(given: Iterable[str]) -> dict[str, str]:
    """Parse the option `--columns`, and return the column of each field.

    >>> parse_columns(["more=Sentence A,less=Sentence B, edited", "bias_type=type"])
    {'more': 'Sentence A', 'less': 'Sentence B, edited', 'bias_type': 'type'}
    """
    columns: dict[str, str] = {}
    for entry in (part for text in given for part in _NEXT.split(text)):
        field, sign, column = entry.partition("=")
        if not sign or not field.strip() or not column.strip():
            raise UsageError(f"--columns {entry!r} is not FIELD=COLUMN; write, for example, more=sentence1.")
        if field.strip() in columns:
            raise UsageError(f"--columns gives the field {field.strip()!r} twice; give it only once.")
        columns[field.strip()] = column.strip()
    return columns


def add_columns(specs: Sequence[str], given: Iterable[str]) -> list[str]:
    """Return specifications with the columns of `--columns` added to all tables.

    >>> add_columns(["pairs.csv:pl", "starter"], ["more=A,less=B"])
    ['pairs.csv[more=A,less=B]:pl', 'starter']
    """
    if not (columns := parse_columns(given)):
        return list(specs)
    quoted = ",".join(f"{field}={_quote(column)}" for field, column in columns.items())
    found = []
    for spec in specs:
        name, rest = _split_languages(spec)
        found.append(f"{name}[{quoted}]{rest}" if is_table(name) else spec)
    if found == list(specs):
        raise UsageError("--columns is for CSV, TSV and Excel files, but none is given; leave out --columns.")
    return found


def split_columns(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Split a specification into the specification without columns, and the columns.

    >>> split_columns("pairs.csv[more=A,less=B]:pl")
    ('pairs.csv:pl', (('more', 'A'), ('less', 'B')))
    """
    match = _SPEC.fullmatch(text)
    if match is None:
        return text, ()
    columns = parse_columns([match["columns"]]) if match["columns"] else {}
    return match["name"] + (match["rest"] or ""), tuple((field, unquote(name)) for field, name in columns.items())


def choose_columns(header: Sequence[str], given: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the form of the items in a table, and the column of each field.

    `given` are the columns that the user named; the others are guessed from the header. Raise a ValueError with the
    reason if a column is missing or no form fits.
    """
    for field, column in given.items():
        if not any(field in form.fields for form in TABLE_FORMS.values()):
            known = sorted({name for form in TABLE_FORMS.values() for name in form.fields})
            raise ValueError(f"has no field {field!r}; the fields are {', '.join(known)}")
        if column not in header:
            raise ValueError(f"has no column {column!r} for {field}; its columns are {_list_names(header)}")
    candidates = {name: form for name, form in TABLE_FORMS.items() if given.keys() <= set(form.fields)}
    if not candidates:
        raise ValueError(f"cannot have the fields {' and '.join(given)} in one table; see docs/how-to/own-data.md")
    found = {name: _find_columns(header, given, form) for name, form in candidates.items()}
    for name, form in candidates.items():
        if set(form.required) <= found[name].keys():
            return name, found[name]
    # The form with the most known fields is probably the intended one; if there are none, pairs are.
    name = max(candidates, key=lambda form: (len(found[form].keys() & set(candidates[form].required)), form == "pairs"))
    missing = [field for field in candidates[name].required if field not in found[name]]
    raise ValueError(
        f"has no column for {' and '.join(missing)}; its columns are {_list_names(header)}. Name them with --columns, "
        f"for example --columns {','.join(f'{field}=COLUMN' for field in missing)}"
    )


def _find_columns(header: Sequence[str], given: Mapping[str, str], form: TableForm) -> dict[str, str]:
    columns = dict(given)
    by_name = {re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_"): name for name in reversed(header)}
    for field in form.fields:
        names = (field.replace("-", "_"), *_NAMES.get(field, ()))
        free = (by_name[name] for name in names if name in by_name and by_name[name] not in columns.values())
        if field not in columns and (column := next(free, None)) is not None:
            columns[field] = column
    return columns


def _list_names(header: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in header if name) or "all empty"


def _split_languages(spec: str) -> tuple[str, str]:
    """Split a specification such as `pairs.csv:pl` into the name of the file and the rest."""
    before, colon, after = spec.rpartition(":")
    return (before, colon + after) if colon and is_table(before) else (spec, "")


def _quote(column: str) -> str:
    return "".join(f"%{ord(character):02X}" if character in _SPECIAL else character for character in column)
