"""The repair step `punctuation`, which removes punctuation from candidate words and target terms, such as "Mond-"."""

import re
from collections.abc import Iterator, Sequence

from tiltmeter.forms.blank import EDGES
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.repair_resources import RepairResources

RULE = "punctuation-in-word"
# Separators between several translations ("warm, lukewarm", "he/she"), and parts of a translation in brackets.
_SEVERAL = re.compile(r"\s*[,;/|]\s*")
_NO_BRACKETS = str.maketrans("", "", "()[]")
_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]\s*")


def find_punctuation_errors(drafts: Sequence[Draft], _resources: RepairResources) -> list[RepairFinding]:
    """Find candidate words and target terms with outer punctuation, brackets or several alternative words.

    Outer punctuation is removed. Each alternative word is proposed.
    """
    return [
        finding
        for draft in drafts
        for name in (*draft.list_fields("word"), *draft.list_fields("term"))
        for finding in _check_word(draft, name)
    ]


def _check_word(draft: Draft, name: str) -> Iterator[RepairFinding]:
    text = draft.texts[name]
    if not any(character.isalnum() for character in text):
        reason = "The text has no letter, so the translation of the word is missing."
        yield RepairFinding(draft.item, name, RULE, "open", reason, text)
        return
    edges = EDGES.translate(_NO_BRACKETS) if _BRACKETS.search(text) else EDGES
    stripped = text.strip(edges) if draft.source[name] == draft.source[name].strip(EDGES) else text
    if stripped != text:
        reason = "The word had punctuation at its edges."
        yield RepairFinding(draft.item, name, RULE, "changed", reason, text, (stripped,))
    if proposals := _list_readings(stripped, draft.source[name]):
        reason = "The text has several words or a part in brackets, but the blank needs one word."
        yield RepairFinding(draft.item, name, "several-words", "proposed", reason, stripped, proposals)


def _list_readings(text: str, source: str) -> tuple[str, ...]:
    """Return the alternative words in a text with separators or brackets; empty if there are none.

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
