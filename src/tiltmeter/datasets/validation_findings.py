"""Validation findings and the codes that all forms share; each form defines further codes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from tiltmeter.forms import get_forms

Severity = Literal["error", "warning"]

_ERRORS = {
    "bad-controls": "not a table of control pairs, or a file without its companion file",
    "bad-csv": "a row that does not have the columns of the header, or a file that is not CSV",
    "bad-encoding": "not UTF-8",
    "bad-geneval": "not a line of MT-GenEval, or a file without its reference files",
    "bad-groups": "a table of groups without two groups, with an empty wording, or with more cells than its header",
    "bad-json": "not valid JSON, or not the expected object",
    "bad-language": "a language that is not a code such as de or pt-BR",
    "bad-pickle": "not the pickle of a pandas table of texts; no code in it is executed",
    "bad-stimuli": "a test with different numbers of names or words for its two groups",
    "bad-winobias": "not a line of WinoBias, or a file without its companion file",
    "bad-winomt": "not a line of WinoMT, or a file without its two companion files",
    "duplicate-id": "two items with the same id, in one language",
    "duplicate-key": "a key that occurs twice in one JSON object",
    "empty-text": "a text that is empty or consists of spaces",
    "missing-column": "a missing column that the format needs",
    "missing-groups": "a table of prompts without the table of its groups, or without wordings in its language",
    "missing-field": "a missing field that the item needs",
    "mixed-forms": "an item whose form (type) differs from the form of the first item",
    "no-items": "a file without items",
    "unknown-form": "a line whose keys match no form (type) of items",
    "unknown-part": "a part that the form does not have",
    "wrong-type": "a value of the wrong type",
}

_WARNINGS = {
    "bad-bias-type": "an invalid bias type, read as other",
    "control-character": "an invisible or unassigned character",
    "direction-differs": "a direction that differs from the direction of the same pair in the English file",
    "decomposed": "a text that is not in the Unicode normal form NFC; it is read in NFC",
    "half-pair": "a pair with a missing sentence; it is left out",
    "odd-space": "a double space, or a space that is not U+0020",
    "outer-space": "spaces before or after the text",
    "unknown-field": "a field that the form does not have, perhaps misspelt",
    "untranslated": "words of the source text, or a text in the source language; only with --against",
}

# The codes of those warnings in `_WARNINGS` that affect the interpretation of results. Each form adds its own codes.
_CHANGING_MEANING = ("control-character", "decomposed")


@dataclass(frozen=True, slots=True)
class Finding:
    """An error or warning about a data file.

    `row` is the location in the file ("line 3", "row 17", "data.intrasentence[5]"); it is empty for findings about the
    whole file. `field` is empty for findings about the whole row. `item` is the id of the item, if known.
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
    """Return a mapping from the codes of errors to their meanings; an error makes an item or a file unusable."""
    return _merge_codes(_ERRORS, *(form.errors for form in get_forms().values()))


@cache
def list_warning_codes() -> dict[str, str]:
    """Return a mapping from the codes of warnings to their meanings; an item with a warning is usable."""
    return _merge_codes(_WARNINGS, *(form.warnings for form in get_forms().values()))


def _merge_codes(*codes: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted((code, meaning) for mapping in codes for code, meaning in mapping.items()))


def get_severity(code: str) -> Severity:
    """Return whether a code denotes an error or a warning."""
    return "error" if code in list_error_codes() else "warning"


def changes_meaning(code: str) -> bool:
    """Return whether a warning affects the interpretation of results; runs on such items repeat this warning.

    >>> changes_meaning("identical-pair"), changes_meaning("unknown-field")
    (True, False)
    """
    return code in _list_meaning_changes()


@cache
def _list_meaning_changes() -> frozenset[str]:
    return frozenset(_CHANGING_MEANING).union(*(form.changing_meaning for form in get_forms().values()))
