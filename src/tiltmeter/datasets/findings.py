"""Validation findings and their codes; forms add codes of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from tiltmeter.forms import get_forms

Severity = Literal["error", "warning"]

_ERRORS = {
    "bad-controls": "not a table of controls, or a file without its companion file",
    "bad-csv": "a row that does not have the columns of the header, or a file that is not CSV",
    "bad-encoding": "not UTF-8",
    "bad-geneval": "not a line of MT-GenEval, or a file without its reference files",
    "bad-json": "not valid JSON, or not the object that is expected",
    "bad-language": "a language that is not a code such as de or pt-BR",
    "bad-pickle": "not the pickle of a plain pandas frame of texts; nothing in it was run",
    "bad-winobias": "not a line of WinoBias, or a file without its companion file",
    "bad-winomt": "not a line of WinoMT, or a file without the two that say which lines are stereotypical",
    "duplicate-id": "two items with the same id, in one language",
    "duplicate-key": "a key that occurs twice in one JSON object",
    "empty-text": "a text that is empty, or only space",
    "missing-column": "a column that the format needs",
    "missing-field": "a field that the item needs",
    "mixed-forms": "items of another form than those before them",
    "no-items": "a file without a single item",
    "unknown-form": "a line whose keys match no form",
    "unknown-part": "a part that the form does not have",
    "wrong-type": "a value of the wrong type",
}

_WARNINGS = {
    "bad-bias-type": "a bias type that is none, read as other",
    "control-character": "an invisible or unassigned character",
    "direction-differs": "a direction that the English file of the same pairs has otherwise",
    "decomposed": "a text that is not in the Unicode normal form NFC; it is read in NFC",
    "half-pair": "a pair that lacks one of its sentences and is left out",
    "odd-space": "a space that is doubled or not U+0020",
    "outer-space": "space before or after the text",
    "unknown-field": "a field that the form does not have, perhaps misspelt",
}

# Warnings of all forms after which a number means something else than it seems to; each form adds its own.
_CHANGING_MEANING = ("control-character", "decomposed")


@dataclass(frozen=True, slots=True)
class Finding:
    """An error or warning about a data file.

    `row` is the location in the file ("line 3", "row 17", "data.intrasentence[5]"), empty for a finding about the whole
    file; `field` is empty for a finding about the whole row. `item` is the item's id if known.
    """

    severity: Severity
    code: str
    file: str
    row: str
    field: str
    item: str
    message: str

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.file, self.row, self.field))) + f": {self.message}"


@cache
def list_error_codes() -> dict[str, str]:
    """The codes of findings that make an item or a file unusable, with their meanings."""
    return _merge_codes(_ERRORS, *(form.errors for form in get_forms().values()))


@cache
def list_warning_codes() -> dict[str, str]:
    """The codes of findings about usable items, with their meanings."""
    return _merge_codes(_WARNINGS, *(form.warnings for form in get_forms().values()))


def _merge_codes(*codes: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted((code, meaning) for mapping in codes for code, meaning in mapping.items()))


def get_severity(code: str) -> Severity:
    """Whether `code` names an error or a warning."""
    return "error" if code in list_error_codes() else "warning"


def changes_meaning(code: str) -> bool:
    """Whether a warning changes what a number means, so that runs repeat it.

    >>> changes_meaning("identical-pair"), changes_meaning("unknown-field")
    (True, False)
    """
    return code in _list_meaning_changes()


@cache
def _list_meaning_changes() -> frozenset[str]:
    return frozenset(_CHANGING_MEANING).union(*(form.changing_meaning for form in get_forms().values()))
