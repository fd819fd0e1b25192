"""XLIFF 1.2, which translation programs read: BLANK is an inline code, so that they protect it.

A unit's `state` carries the decision: `final` or `signed-off` accepts the item. A note of the reviewer is a comment; a
note that begins with `drop` drops the item.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from tiltmeter.errors import DataError
from tiltmeter.files import atomic_write
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.exchange.text_rows import TextRow

_SPACE = "urn:oasis:names:tc:xliff:document:1.2"
_TAG = f"{{{_SPACE}}}"
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_ACCEPTED = ("final", "signed-off")
_BEFORE, _DROP = "translation before the review", "drop"
# Characters that XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def write(rows: Sequence[TextRow], path: Path, *, source: str, language: str) -> None:
    """Write the rows as units; an item's units are a group."""
    ET.register_namespace("", _SPACE)
    root = ET.Element(f"{_TAG}xliff", version="1.2")
    attributes = {"original": "tiltmeter", "source-language": source, "target-language": language}
    body = ET.SubElement(ET.SubElement(root, f"{_TAG}file", {**attributes, "datatype": "plaintext"}), f"{_TAG}body")
    groups: dict[str, ET.Element] = {}
    for row in rows:
        if row.item not in groups:
            groups[row.item] = ET.SubElement(body, f"{_TAG}group", id=row.item, resname=_clean(row.about))
        _add_unit(groups[row.item], row)
    ET.indent(root)
    with atomic_write(path) as part:
        ET.ElementTree(root).write(part, encoding="utf-8", xml_declaration=True)


def _add_unit(group: ET.Element, row: TextRow) -> None:
    identity = {"id": f"{row.item}#{row.field}", "resname": row.field, _XML_SPACE: "preserve"}
    unit = ET.SubElement(group, f"{_TAG}trans-unit", identity)
    _fill(ET.SubElement(unit, f"{_TAG}source"), row.source)
    state = "needs-review-translation" if row.problem else "translated"
    _fill(ET.SubElement(unit, f"{_TAG}target", state=state), row.translation)
    # The text as it went out, by which an import tells what has changed since.
    alternatives = [("previous-version", _BEFORE, row.translation)]
    proposals = filter(None, row.proposals.split(" | "))
    alternatives += [("proposal", f"proposal {number}", text) for number, text in enumerate(proposals, start=1)]
    for kind, origin, text in alternatives:
        alternative = ET.SubElement(unit, f"{_TAG}alt-trans", {"alttranstype": kind, "origin": origin})
        _fill(ET.SubElement(alternative, f"{_TAG}target"), text)
    if row.problem:
        note = ET.SubElement(unit, f"{_TAG}note", {"from": "tiltmeter"})
        note.text = _clean(row.problem)


def read(path: Path) -> list[TextRow]:
    """The units of a file as rows; a target that differs from the one that went out is a correction."""
    try:
        root = ET.parse(path).getroot()
    except ET.ParseError as error:
        raise DataError(f"{path} is not XML: {error}.") from error
    if root.tag != f"{_TAG}xliff":
        raise DataError(f"{path} is not an XLIFF 1.2 file.")
    return [_row(unit, path) for unit in root.iter(f"{_TAG}trans-unit")]


def _row(unit: ET.Element, path: Path) -> TextRow:
    item, _, field = unit.get("id", "").rpartition("#")
    source, target = unit.find(f"{_TAG}source"), unit.find(f"{_TAG}target")
    before = unit.find(f"{_TAG}alt-trans[@origin='{_BEFORE}']/{_TAG}target")
    if not item or source is None or before is None:
        raise DataError(f"{path}: the unit {unit.get('id')!r} is not one that was exported, or lacks its alt-trans.")
    notes = [note.text or "" for note in unit.findall(f"{_TAG}note") if note.get("from") != "tiltmeter"]
    comment = " ".join(note.strip() for note in notes)
    is_dropped = comment.lower().startswith(_DROP)
    is_accepted = target is not None and target.get("state") in _ACCEPTED
    translation, corrected = _text(before), "" if target is None else _text(target)
    return TextRow(
        item=item,
        field=field,
        about="",
        source=_text(source),
        translation=translation,
        corrected=corrected if corrected != translation else "",
        decision="drop" if is_dropped else "accept" if is_accepted else "",
        comment=comment[len(_DROP) :].strip(" :") if is_dropped else comment,
        place=f"unit {unit.get('id')}",
    )


def _fill(element: ET.Element, text: str) -> None:
    """Set the text of an element, with each BLANK as an inline code."""
    first, *rest = _clean(text).split(BLANK)
    element.text = first
    for number, part in enumerate(rest, start=1):
        code = ET.SubElement(element, f"{_TAG}x", {"id": str(number), "equiv-text": BLANK})
        code.tail = part


def _text(element: ET.Element) -> str:
    codes = [(BLANK if child.tag == f"{_TAG}x" else _text(child)) + (child.tail or "") for child in element]
    return (element.text or "") + "".join(codes)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
