"""XLIFF 1.2 files for translation programs. BLANK is written as an inline code, which these programs protect.

Each text of an item is an XLIFF unit. An item is accepted if all its units are approved or have the state `final` or
`signed-off`. Notes of the reviewer are imported as comments. A note that begins with `drop` drops the item.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tiltmeter.errors import DataError
from tiltmeter.files import write_atomically
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.draft import group_by_item
from tiltmeter.making.exchange.text_rows import TextRow
from tiltmeter.text_files import read_bytes

_SPACE = "urn:oasis:names:tc:xliff:document:1.2"
_TAG = f"{{{_SPACE}}}"
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_ACCEPTED = ("final", "signed-off")
_EMPTY = "the target is empty; write a text, or add a note that begins with `drop`"
_BEFORE, _DROP = "translation before the review", "drop"
# Maximum size of a file to read, in bytes. Parsing needs up to ten times as much memory.
_MAX_BYTES = 1 << 27
# Characters that are not allowed in XML 1.0.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def write(rows: Sequence[TextRow], path: Path, *, source: str, language: str) -> None:
    """Write the rows to an XLIFF file. The file has a group for each item and a unit for each text."""
    ET.register_namespace("", _SPACE)
    root = ET.Element(f"{_TAG}xliff", version="1.2")
    attributes = {"original": "tiltmeter", "source-language": source, "target-language": language}
    body = ET.SubElement(ET.SubElement(root, f"{_TAG}file", {**attributes, "datatype": "plaintext"}), f"{_TAG}body")
    groups: dict[str, ET.Element] = {}
    for row in rows:
        if row.item not in groups:
            groups[row.item] = ET.SubElement(body, f"{_TAG}group", id=row.item, resname=_replace_forbidden(row.about))
        _add_unit(groups[row.item], row)
    _indent_element(root)
    with write_atomically(path) as part:
        ET.ElementTree(root).write(part, encoding="utf-8", xml_declaration=True)


def _indent_element(element: ET.Element, level: int = 0) -> None:
    """Put each XML element on its own line, except inside a text, because added spaces would change the text."""
    if len(element) and element.tag not in (f"{_TAG}source", f"{_TAG}target"):
        element.text = "\n" + "  " * (level + 1)
        for child in element:
            _indent_element(child, level + 1)
            child.tail = "\n" + "  " * (level + 1)
        element[-1].tail = "\n" + "  " * level


def _add_unit(group: ET.Element, row: TextRow) -> None:
    identity = {"id": f"{row.item}#{row.field}", "resname": row.field, _XML_SPACE: "preserve"}
    unit = ET.SubElement(group, f"{_TAG}trans-unit", identity)
    _set_text(ET.SubElement(unit, f"{_TAG}source"), row.source)
    state = "needs-review-translation" if row.problem else "translated"
    _set_text(ET.SubElement(unit, f"{_TAG}target", state=state), row.translation)
    # The exported text is stored too, so that an import can detect changes.
    alternatives = [("previous-version", _BEFORE, row.translation)]
    proposals = filter(None, row.proposals.split(" | "))
    alternatives += [("proposal", f"proposal {number}", text) for number, text in enumerate(proposals, start=1)]
    for kind, origin, text in alternatives:
        alternative = ET.SubElement(unit, f"{_TAG}alt-trans", {"alttranstype": kind, "origin": origin})
        _set_text(ET.SubElement(alternative, f"{_TAG}target"), text)
    if row.problem:
        note = ET.SubElement(unit, f"{_TAG}note", {"from": "tiltmeter"})
        note.text = _replace_forbidden(row.problem)


def read(path: Path, *, language: str) -> list[TextRow]:
    """Return the units of an XLIFF file as rows; a target that differs from the exported text is a correction."""
    try:
        root = ET.fromstring(read_bytes(path, _MAX_BYTES))
    except (ET.ParseError, ValueError, LookupError) as error:
        # Python raises a ValueError or LookupError for an unknown encoding.
        raise DataError(f"{path} is not valid XML: {error}.") from error
    try:
        return _parse_units(root, path, language)
    except RecursionError:
        raise DataError(f"{path} cannot be read: its elements are nested too deep.") from None


def _parse_units(root: ET.Element, path: Path, language: str) -> list[TextRow]:
    if root.tag != f"{_TAG}xliff":
        raise DataError(f"{path} is not an XLIFF 1.2 file; save it in that format.")
    for file in root.iter(f"{_TAG}file"):
        if (target := file.get("target-language", language)).lower() != language.lower():
            raise DataError(f"{path} is a translation into {target!r}, but the project's language is {language!r}.")
    rows = [_parse_unit(unit, path) for unit in root.iter(f"{_TAG}trans-unit")]
    if not rows:
        raise DataError(f"{path} has no trans-unit; export the file again.")
    decisions = {item: _combine_decisions({row.decision for row in own}) for item, own in group_by_item(rows).items()}
    return [replace(row, decision=decisions[row.item]) for row in rows]


def _combine_decisions(decisions: set[str]) -> str:
    """Return the decision on an item: `drop` if a unit says `drop`, `accept` if all units say `accept`, or empty."""
    if "drop" in decisions:
        return "drop"
    return "accept" if decisions == {"accept"} else ""


def _parse_unit(unit: ET.Element, path: Path) -> TextRow:
    item, _, field = unit.get("id", "").rpartition("#")
    source, target = unit.find(f"{_TAG}source"), unit.find(f"{_TAG}target")
    before = unit.find(f"{_TAG}alt-trans[@origin='{_BEFORE}']/{_TAG}target")
    if not item or source is None or before is None:
        raise DataError(
            f"{path}: the unit {unit.get('id')!r} was not exported or has lost its element alt-trans; export the file "
            "again."
        )
    notes = [note.text or "" for note in unit.findall(f"{_TAG}note") if note.get("from") != "tiltmeter"]
    comment = " ".join(note.strip() for note in notes)
    is_dropped = comment.lower().startswith(_DROP)
    is_accepted = unit.get("approved") == "yes" or (target is not None and target.get("state") in _ACCEPTED)
    translation, corrected = _get_text(before), "" if target is None else _get_text(target)
    is_lost = bool(translation) and not corrected.strip()
    return TextRow(
        item=item,
        field=field,
        about="",
        source=_get_text(source),
        translation=translation,
        corrected=corrected if corrected != translation else "",
        decision="drop" if is_dropped else "accept" if is_accepted else "",
        comment=comment[len(_DROP) :].strip(" :") if is_dropped else comment,
        place=f"unit {unit.get('id')}",
        fault=_EMPTY if is_lost and not is_dropped else "",
    )


def _set_text(element: ET.Element, text: str) -> None:
    """Set the text of an XML element; each BLANK becomes an inline code, which translation programs protect."""
    first, *rest = _replace_forbidden(text).split(BLANK)
    element.text = first
    for number, part in enumerate(rest, start=1):
        code = ET.SubElement(element, f"{_TAG}x", {"id": str(number), "equiv-text": BLANK})
        code.tail = part


def _get_text(element: ET.Element) -> str:
    codes = [(BLANK if child.tag == f"{_TAG}x" else _get_text(child)) + (child.tail or "") for child in element]
    return (element.text or "") + "".join(codes)


def _replace_forbidden(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
