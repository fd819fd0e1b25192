"""Spreadsheets that would fill the memory, or that Excel would not write: one message, and no row is lost."""

from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.making.exchange import xliff, xlsx
from tiltmeter.making.exchange.text_rows import TextRow

pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install 'tiltmeter[xlsx]'")

SHEET = "xl/worksheets/sheet1.xml"
TYPE = "<!DOCTYPE worksheet [<!ENTITY e {}>]>"
ROW = '<row r="{}"><c r="A{}" t="inlineStr"><is><t>added</t></is></c></row></sheetData>'


def spreadsheet(path: Path, change: Callable[[str], str]) -> Path:
    """An exported file whose sheet is changed."""
    rows = [TextRow(f"i{number}", "context", "", "The cook was BLANK.", "Der Koch war BLANK.") for number in range(3)]
    xlsx.write(rows, path, source="en", language="de")
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, change(content.decode()) if name == SHEET else content)
    return path


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda text: text.replace("<sheetData>", "<sheetData>&odd;"), "undefined entity"),
        (lambda text: text[: len(text) // 2], "save it again"),
        (lambda text: "", "save it again"),
        (lambda text: text.replace('t="inlineStr"', 't="s"', 1).replace("<is>", "<v>7</v><is>", 1), "save it again"),
        (lambda text: text.replace('r="2"', 'r="two"'), "save it again"),
        (lambda text: TYPE.format('"x"') + text.replace("BLANK", "&e;"), "sheet1.xml declares"),
        (lambda text: TYPE.format('SYSTEM "file:///etc/passwd"') + text, "sheet1.xml declares"),
        (lambda text: text.replace("BLANK", " " * (40 << 20), 1), "bytes after unpacking"),
    ],
    ids=["entity", "cut", "empty", "string", "row", "own entity", "external entity", "large"],
)
def test_a_spreadsheet_that_is_refused(tmp_path: Path, change: Callable[[str], str], part: str) -> None:
    path = spreadsheet(tmp_path / "review.xlsx", change)
    with raises_mentioning(DataError, str(path), part):
        xlsx.read(path, language="de")


@pytest.mark.parametrize("row", [5, 1_000])
def test_rows_beyond_the_size_that_a_sheet_claims_are_read(tmp_path: Path, row: int) -> None:
    path = spreadsheet(tmp_path / "review.xlsx", lambda text: text.replace("</sheetData>", ROW.format(row, row)))
    found = [text.item for text in xlsx.read(path, language="de")]
    assert found == ["i0", "i1", "i2", "added"]


def test_a_text_that_a_cell_would_cut_is_not_exported(tmp_path: Path) -> None:
    long = TextRow("i0", "context", "", "x" * 40_000, "y")
    with raises_mentioning(DataError, "`source` of item i0", "40,000 characters", "CSV"):
        xlsx.write([long], tmp_path / "review.xlsx", source="en", language="de")
    assert not (tmp_path / "review.xlsx").exists()


@pytest.mark.parametrize(
    "content",
    [
        '<?xml version="1.0" encoding="no-such-encoding"?><xliff/>',
        '<?xml version="1.0" encoding="shift-jis"?><xliff/>',
        TYPE.format('"x"') + "<xliff>&odd;</xliff>",
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><trans-unit id="a#b"><source>' + "<g>" * 50_000,
    ],
)
def test_odd_xml_in_xliff_is_a_message(tmp_path: Path, content: str) -> None:
    path = tmp_path / "review.xlf"
    path.write_text(content, encoding="utf-8")
    with raises_mentioning(DataError, "review.xlf"):
        xliff.read(path, language="de")


def test_elements_of_xliff_that_are_nested_too_deep_are_a_message(tmp_path: Path) -> None:
    path = tmp_path / "review.xlf"
    xliff.write([TextRow("i0", "context", "", "A", "B")], path, source="en", language="de")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(">A<", ">" + "<g>" * 20_000 + "A" + "</g>" * 20_000 + "<", 1), encoding="utf-8")
    with raises_mentioning(DataError, "review.xlf", "nested too deep"):
        xliff.read(path, language="de")
