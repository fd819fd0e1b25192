"""The repair step `spacing`, which corrects wrong dashes next to the blank, and wrong spaces."""

import re
from collections.abc import Iterator, Sequence

from tiltmeter.forms.blank import BLANK
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.repair_resources import RepairResources

_DASHES = "-‐‑–—"
_BEFORE_BLANK = re.compile(rf"(?<=\w)[{_DASHES}]+(?={BLANK})")
_AFTER_BLANK = re.compile(rf"(?<={BLANK})[{_DASHES}]+(?=\w)")
_LOOSE_DASH = re.compile(rf"(?<={BLANK})[{_DASHES}]+(?=\W|$)|(?<!\S)[{_DASHES}]+(?={BLANK})")
_ODD_SPACE = re.compile(r"[^\S ]+| {2,}")
_BREAKING_ODD_SPACE = re.compile(r"[^\S \u00a0\u202f]+| {2,}|(?<=[^\W\d])[\u00a0\u202f]+(?=[^\W\d])")
_MARKS = ".,;:!?"
# Letters that are attached to the blank, directly or with an apostrophe or quotation mark between (Turkish endings).
_ATTACHED = re.compile(rf"\w+['’\"”]?{BLANK}|{BLANK}['’\"”]?\w+")
_ENDING = re.compile(rf"{BLANK}['’\"”]\w+")
# Elided articles and particles before the blank, which are correct: l'BLANK.
_ELIDED = re.compile(rf"\w+['’]{BLANK}")


def find_spacing_errors(drafts: Sequence[Draft], resources: RepairResources) -> list[RepairFinding]:
    """Find wrong spaces and dashes, which are corrected, and letters that are attached to the blank."""
    return [
        finding
        for draft in drafts
        for name in draft.texts
        for finding in _check_text(draft, name, resources.rules.space_before)
    ]


def _check_text(draft: Draft, name: str, space_before: str) -> Iterator[RepairFinding]:
    text = draft.texts[name]
    for rule, reason, corrected in _correct_spacing(text, space_before):
        if corrected != text:
            yield RepairFinding(draft.item, name, rule, "changed", reason, text, (corrected,))
            text = corrected
    if (attached := _ATTACHED.search(text)) and not _ELIDED.fullmatch(attached[0]):
        reason = f"Letters are attached to the blank ({attached[0]!r}) and would be attached to every candidate word."
        if (free := remove_attached_endings(text)) != text:
            reason += " If the letters are removed, the candidate words need this ending."
            yield RepairFinding(draft.item, name, "attached-blank", "proposed", reason, text, (free,))
        else:
            yield RepairFinding(draft.item, name, "attached-blank", "open", reason, text)


def remove_attached_endings(text: str) -> str:
    """Return a text without endings that are attached to the blank by an apostrophe or quotation mark.

    >>> remove_attached_endings("Komşum BLANK'tı."), remove_attached_endings("L'homme est BLANK.")
    ('Komşum BLANK.', "L'homme est BLANK.")
    """
    return _ENDING.sub(BLANK, text)


def _correct_spacing(text: str, space_before: str) -> Iterator[tuple[str, str, str]]:
    """Yield the rule, the reason and the new text of each correction; each text includes the earlier corrections."""
    text = _LOOSE_DASH.sub("", _AFTER_BLANK.sub(" ", _BEFORE_BLANK.sub(" ", text)))
    yield "dash-at-blank", "A dash joined the blank to its neighbour, but the blank is a separate word.", text
    # In languages such as French, the space before a mark of two parts, and inside quotation marks, does not break.
    text = (_BREAKING_ODD_SPACE if space_before else _ODD_SPACE).sub(" ", text).strip()
    yield "spaces", "There were doubled, unusual or outer spaces.", text
    marks = "".join(mark for mark in _MARKS if mark not in space_before)
    text = re.sub(rf"(?<=\S) +(?=[{re.escape(marks)}](?:\s|$|[”\"»]))", "", text)
    yield "space-before-punctuation", "There was a space before a punctuation mark.", text
