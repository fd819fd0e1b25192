"""Findings: what validation has to say about a data file."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]

ERRORS = {
    "bad-csv": "a row that does not have the columns of the header, or a file that is not CSV",
    "bad-encoding": "not UTF-8",
    "bad-json": "not valid JSON, or not the object that is expected",
    "bad-language": "a language that is not a code such as de or pt-BR",
    "bad-pickle": "not the pickle of a plain pandas frame of texts; nothing in it was run",
    "bad-stereotype": "a GEST stereotype that is not a number from 1 to 16",
    "bad-winobias": "not a line of WinoBias, or a file of it without its other half",
    "duplicate-candidate-id": "two candidates with the same id, in one language",
    "duplicate-id": "two items with the same id, in one language",
    "duplicate-key": "a key that is twice in one JSON object",
    "duplicate-role": "two candidates of an item with the same role",
    "empty-text": "a text that is empty, or only space",
    "missing-column": "a column that the format needs",
    "missing-field": "a field that the item needs",
    "missing-role": "an item without a stereotype, an anti-stereotype or an unrelated candidate",
    "mixed-forms": "items of another form than those before them",
    "no-blank": "an intrasentence context without BLANK",
    "no-items": "a file without a single item",
    "unknown-direction": "a direction that is neither stereo nor antistereo",
    "unknown-form": "a line that is neither an association item, nor a pair, nor a GEST sentence, nor a gendered pair",
    "unknown-gender": "an occupation's gender that is neither male nor female",
    "unknown-part": "a part that its form does not have",
    "unknown-role": "a role that is not one of the three",
    "word-not-found": "a candidate sentence in which the word for BLANK cannot be told",
    "wrong-type": "a value of another type than it should have",
}
"""What makes an item, or a file, unusable."""

WARNINGS = {
    "attached-blank": "BLANK with letters attached, which end up attached to the candidate word",
    "blank-in-sentence": "BLANK in a text that is not an intrasentence context",
    "control-character": "an invisible or unassigned character",
    "duplicate-context": "a context that an earlier item has too",
    "duplicate-pair": "a pair that an earlier item has too",
    "duplicate-sentence": "a GEST sentence that an earlier item has too",
    "identical-candidates": "candidates of different roles with the same text: their scores will tie",
    "identical-pair": "two sentences that do not differ: their scores will tie",
    "nothing-shared": "two sentences without a word in common, so that a protocol may find nothing to mask",
    "odd-space": "a space that is doubled or not the plain one",
    "outer-space": "space before or after the text",
    "sentence-case": "a candidate sentence that differs in its capitals from the context with the word filled in",
    "sentence-differs": "a candidate sentence that is not the context with the word filled in",
    "several-blanks": "BLANK more than once; the published protocol fills all and reads the first",
    "target-not-in-context": "a target term that does not occur in the context",
    "unknown-field": "a field that has no meaning here, perhaps a misspelt one",
    "wide-difference": "a pair that differs in three words or more in a row, or in most words: not in the group alone?",
}
"""What a reader of the results should know; the items are used as they are."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found in a data file.

    `row` says where, in the file's own terms ("line 3", "row 17", "data.intrasentence[5]"), and is empty where the
    finding is about the whole file, as is `field` where it is about the whole row. `item` is the item's id if known.
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


def severity_of(code: str) -> Severity:
    """Whether `code` names an error or a warning."""
    return "error" if code in ERRORS else "warning"
