"""Punctuation in candidate words and target terms, such as the dash of "Mond-" or the full stop of "bonjour."."""

import re
from collections.abc import Iterator, Sequence

from tiltmeter.forms.blank import EDGES
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.repair_resources import RepairResources

RULE = "punctuation-in-word"
# Several translations in one, as dictionaries give them: "warm, lukewarm", "he/she"; and parts in brackets.
_SEVERAL = re.compile(r"\s*[,;/|]\s*")
_NO_BRACKETS = str.maketrans("", "", "()[]")
_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]\s*")


def find_punctuation_errors(drafts: Sequence[Draft], _resources: RepairResources) -> list[RepairFinding]:
    """Outer punctuation is removed; of several words in one, each is proposed."""
    return [
        finding
        for draft in drafts
        for name in (*draft.list_fields("word"), *draft.list_fields("term"))
        for finding in _check_word(draft, name)
    ]


def _check_word(draft: Draft, name: str) -> Iterator[RepairFinding]:
    text = draft.texts[name]
    if not any(character.isalnum() for character in text):
        reason = "There is no letter in it: the translation of the word is missing."
        yield RepairFinding(draft.item, name, RULE, "open", reason, text)
        return
    edges = EDGES.translate(_NO_BRACKETS) if _BRACKETS.search(text) else EDGES
    mended = text.strip(edges) if draft.source[name] == draft.source[name].strip(EDGES) else text
    if mended != text:
        reason = "The word had punctuation at its edges."
        yield RepairFinding(draft.item, name, RULE, "changed", reason, text, (mended,))
    if proposals := _list_readings(mended, draft.source[name]):
        reason = "It holds several words, or a part in brackets; the blank takes one."
        yield RepairFinding(draft.item, name, "several-words", "proposed", reason, mended, proposals)


def _list_readings(text: str, source: str) -> tuple[str, ...]:
    """What a word with a list or with brackets in it may be read as.

    >>> _list_readings("warm, lauwarm", "tepid"), _list_readings("Lehrer(in)", "teacher"), _list_readings("E-Mail", "e")
    (('warm', 'lauwarm'), ('Lehrer', 'Lehrerin'), ())
    """
    if _SEVERAL.search(source) or _BRACKETS.search(source):
        return ()
    without = _BRACKETS.sub(" ", text).strip()
    readings = [without, re.sub(r"[()\[\]]", "", text)] if _BRACKETS.search(text) else [text]
    parts = [part.strip(EDGES) for reading in readings for part in _SEVERAL.split(reading)]
    found = tuple(dict.fromkeys(part for part in parts if part))
    return found if found != (text,) else ()
