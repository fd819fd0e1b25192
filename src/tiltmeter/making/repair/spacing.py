"""Spaces and dashes: at the blank, before punctuation, doubled, around the text."""

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
_MARKS = ".,;:!?"
# Letters right at the blank, or behind an apostrophe or quotation mark, as Turkish translators write endings.
_ATTACHED = re.compile(rf"\w+['’\"”]?{BLANK}|{BLANK}['’\"”]?\w+")
_ENDING = re.compile(rf"{BLANK}['’\"”]\w+")
# Elided articles and particles are written so: l'BLANK.
_ELIDED = re.compile(rf"\w+['’]{BLANK}")


def find_spacing_errors(drafts: Sequence[Draft], resources: RepairResources) -> list[RepairFinding]:
    """Changes of spaces and dashes; letters attached to the blank are left open."""
    return [
        finding
        for draft in drafts
        for name in draft.texts
        for finding in _check_text(draft, name, resources.rules.space_before)
    ]


def _check_text(draft: Draft, name: str, space_before: str) -> Iterator[RepairFinding]:
    text = draft.texts[name]
    for rule, reason, mended in _correct_spacing(text, space_before):
        if mended != text:
            yield RepairFinding(draft.item, name, rule, "changed", reason, text, (mended,))
            text = mended
    if (attached := _ATTACHED.search(text)) and not _ELIDED.fullmatch(attached[0]):
        reason = f"Letters are attached to the blank ({attached[0]!r}), and would be attached to every candidate word."
        if (free := without_attached_ending(text)) != text:
            reason += " Without them, the words need the ending."
            yield RepairFinding(draft.item, name, "attached-blank", "proposed", reason, text, (free,))
        else:
            yield RepairFinding(draft.item, name, "attached-blank", "open", reason, text)


def without_attached_ending(text: str) -> str:
    """The text without an ending that is attached to the blank by an apostrophe or quotation mark.

    >>> without_attached_ending("Komşum BLANK'tı."), without_attached_ending("L'homme est BLANK.")
    ('Komşum BLANK.', "L'homme est BLANK.")
    """
    return _ENDING.sub(BLANK, text)


def _correct_spacing(text: str, space_before: str) -> Iterator[tuple[str, str, str]]:
    """The text after each mending, one on top of the other."""
    text = _LOOSE_DASH.sub("", _AFTER_BLANK.sub(" ", _BEFORE_BLANK.sub(" ", text)))
    yield "dash-at-blank", "A dash joined the blank to its neighbour; the word for the blank stands alone.", text
    text = _ODD_SPACE.sub(" ", text).strip()
    yield "spaces", "There were doubled, unusual or outer spaces.", text
    marks = "".join(mark for mark in _MARKS if mark not in space_before)
    text = re.sub(rf"(?<=\S) +(?=[{re.escape(marks)}](?:\s|$|[”\"»]))", "", text)
    yield "space-before-punctuation", "There was a space before a punctuation mark.", text
