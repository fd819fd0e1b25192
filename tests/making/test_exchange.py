"""Export and import of CSV, XLSX and XLIFF: texts and decisions survive, and conflicts are named row by row."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DataError, UsageError
from tiltmeter.making.exchange import (
    FORMATS,
    FileFormat,
    build_export_rows,
    csv_table,
    detect_format,
    export_project,
    import_project,
)
from tiltmeter.making.exchange.text_rows import TextRow
from tiltmeter.making.open_problems import assemble_items
from tiltmeter.making.project import Project
from tiltmeter.making.review.review_outcomes import list_drop_reasons

pytestmark = pytest.mark.filterwarnings("error")
CONTEXT = "el cocinero era muy BLANK hoy number0."

Edit = Callable[[TextRow], TextRow]


@pytest.fixture(params=FORMATS)
def file_format(request: pytest.FixtureRequest) -> FileFormat:
    if request.param == "xlsx":
        pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install 'tiltmeter[xlsx]'")
    return request.param  # type: ignore[no-any-return]


def filled_in(project: Project, path: Path, file_format: FileFormat, edits: Mapping[tuple[str, str], Edit]) -> None:
    """Export all items, and fill in the file as a person would; all rows of an item have its decision."""
    export_project(project, path, format=file_format, everything=True)
    rows = FORMATS[file_format].read(path, language="es")
    edited = [edits.get((row.item, row.field), lambda row: row)(row) for row in rows]
    decisions = {row.item: row.decision for row in edited if row.decision}
    edited = [replace(row, decision=decisions.get(row.item, "")) for row in edited]
    if file_format != "xliff":
        FORMATS[file_format].write(edited, path, source="en", language="es")
        return
    tree = ET.parse(path)
    space = "{urn:oasis:names:tc:xliff:document:1.2}"
    units = {unit.get("id"): unit for unit in tree.iter(f"{space}trans-unit")}
    for row in edited:
        unit = units[f"{row.item}#{row.field}"]
        target = unit.find(f"{space}target")
        assert target is not None
        if row.corrected:
            for child in list(target):
                target.remove(child)
            first, *rest = row.corrected.split("BLANK")
            target.text = first
            for part in rest:
                ET.SubElement(target, f"{space}x", id="1").tail = part
        if row.decision == "accept":
            target.set("state", "final")
        note = "drop " * (row.decision == "drop") + row.comment
        if note:
            ET.SubElement(unit, f"{space}note").text = note
    tree.write(path, encoding="utf-8")


def test_only_open_items_go_out(translated: Project) -> None:
    rows = build_export_rows(translated)
    assert {row.item for row in rows} == {"i0", "i1", "i2", "i3"}
    (context,) = [row for row in rows if (row.item, row.field) == ("i0", "context")]
    assert (context.source, context.translation) == ("The cook was very BLANK today number0.", CONTEXT)
    assert context.problem.startswith("blank-restored: ")
    assert context.proposals == CONTEXT
    assert {row.item for row in build_export_rows(translated, everything=True)} == {"i0", "i1", "i2", "i3", "n0", "n1"}


def test_a_file_that_nobody_filled_in_changes_nothing(
    translated: Project, tmp_path: Path, file_format: FileFormat
) -> None:
    path = tmp_path / f"review.{file_format}"
    assert export_project(translated, path, format=file_format) == 20
    done = import_project(translated, path, format=file_format, reviewer="Ana")
    assert (done.accepted, done.edited, done.dropped, done.undecided, done.conflicts) == (0, 0, 0, 4, [])
    assert translated.store.count_decisions_by_reviewer() == {}


def test_decisions_come_back(translated: Project, tmp_path: Path, file_format: FileFormat) -> None:
    path = tmp_path / f"review.{file_format}"
    better = "El cocinero fue muy BLANK hoy, «number0»; ¿sí?"
    edits: dict[tuple[str, str], Edit] = {
        ("i0", "context"): lambda row: replace(row, corrected=better, decision="accept", comment="tense"),
        ("i1", "context"): lambda row: replace(row, decision="accept"),
        ("i2", "context"): lambda row: replace(row, decision="drop", comment="not a stereotype here"),
        ("n0", "context"): lambda row: replace(row, corrected="El cocinero está en number0."),
    }
    filled_in(translated, path, file_format, edits)
    done = import_project(translated, path, format=file_format, reviewer="Ana")
    assert (done.accepted, done.edited, done.dropped, done.undecided) == (1, 2, 1, 2)
    assert done.conflicts == []
    assert translated.store.list_texts("text", "i0")["i0"]["context"] == better
    assert translated.store.list_history("i0")[-1].by == "Ana"
    assert list_drop_reasons(translated) == {"i2": "not a stereotype here"}
    assert translated.store.get_item("i1").stage == "reviewed"
    assert translated.store.get_item("n0").stage == "translated"
    assert {problem.item for problem in assemble_items(translated).problems} == {"i3"}
    # A correction without a decision is none.
    assert translated.store.count_decisions_by_reviewer() == {"Ana": 3}
    # The same file again: nothing is left to change.
    again = import_project(translated, path, format=file_format, reviewer="Ana")
    assert again.texts == 0


def test_conflicts_are_named(translated: Project, tmp_path: Path, file_format: FileFormat) -> None:
    path = tmp_path / f"review.{file_format}"
    edits: dict[tuple[str, str], Edit] = {
        ("i0", "context"): lambda row: replace(row, corrected="El cocinero era BLANK.", decision="accept"),
        ("i1", "context"): lambda row: replace(row, corrected="Sin hueco.", decision="accept"),
        ("i3", "context"): lambda row: replace(row, decision="accept"),
    }
    filled_in(translated, path, file_format, edits)
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", "Otro BLANK.", step="import", by="Eva", why="")
        translated.store.drop_item("i3", step="review", by="Eva", why="faulty")
    done = import_project(translated, path, format=file_format, reviewer="Ana")
    reasons = {conflict.item: str(conflict) for conflict in done.conflicts}
    assert_mentions(reasons["i0"], "'Otro BLANK.'", "since the export")
    assert_mentions(reasons["i1"], "BLANK 0 times", "source text contains it 1 times")
    assert_mentions(reasons["i3"], "dropped since the export", "faulty")
    assert all(reason.startswith(("row ", "unit ")) for reason in reasons.values())
    assert translated.store.list_texts("text", "i0")["i0"]["context"] == "Otro BLANK."
    assert translated.store.count_decisions_by_reviewer() == {}


def test_rows_that_are_not_of_the_project(translated: Project, tmp_path: Path) -> None:
    path = tmp_path / "review.csv"
    rows = [
        TextRow("i9", "context", "", "a", "b", decision="accept"),
        TextRow("i0", "verse", "", "a", "b", decision="accept"),
        TextRow("i1", "context", "", "Another source.", "b", decision="maybe"),
    ]
    FORMATS["csv"].write(rows, path, source="en", language="es")
    conflicts = import_project(translated, path, format="csv", reviewer="Ana").conflicts
    expected = [
        ("row 2, item i9:", "no such item"),
        ("row 3, item i0, verse:", "no such text"),
        ("row 3, item i0, target_term:", "target_term is missing"),
        ("row 4, item i1, context:", "'maybe'", "accept or drop"),
        ("row 4, item i1, context:", "'The gardener was very BLANK today number1.'"),
        ("row 4, item i1, target_term:", "target_term is missing"),
    ]
    for conflict, parts in zip(conflicts, expected, strict=True):
        assert_mentions(str(conflict), *parts)


@pytest.mark.parametrize(
    "text",
    ["=1+1", "-5 grados", "'quoted'", "a\nb", 'say "x"', "a;b,c\td", "ends in BLANK", "BLANK", "a BLANK b BLANK"],
)
def test_texts_survive_each_format(tmp_path: Path, file_format: FileFormat, text: str) -> None:
    path = tmp_path / f"x.{file_format}"
    FORMATS[file_format].write([TextRow("a", "context", "b", text, text)], path, source="en", language="es")
    (row,) = FORMATS[file_format].read(path, language="es")
    assert (row.source, row.translation) == (text, text)


def test_files_that_cannot_be_read(translated: Project, tmp_path: Path, file_format: FileFormat) -> None:
    path = tmp_path / f"x.{file_format}"
    path.write_text("nothing,of,this\n1,2,3\n", encoding="utf-8")
    with raises_mentioning(DataError, str(path)):
        import_project(translated, path, format=file_format, reviewer="Ana")
    with raises_mentioning(UsageError, "none.csv does not exist"):
        import_project(translated, tmp_path / "none.csv", format="csv", reviewer="Ana")
    with raises_mentioning(UsageError, "reviewer's name", "--by"):
        import_project(translated, path, format=file_format, reviewer=" ")


def test_the_format_is_that_of_the_suffix() -> None:
    assert [detect_format(Path(name)) for name in ("a.csv", "a.XLSX", "a.xlf")] == ["csv", "xlsx", "xliff"]
    assert detect_format(Path("a.txt"), "csv") == "csv"
    with raises_mentioning(UsageError, "a.txt", "csv, xlsx, xliff"):
        detect_format(Path("a.txt"))


# The parts of XLIFF 1.2 strict that the export uses: children in order, required attributes, optional attributes.
ALLOWED = {
    "xliff": (["file"], ["version"], []),
    "file": (["header", "body"], ["original", "source-language", "datatype"], ["target-language"]),
    "body": (["group", "trans-unit"], [], []),
    "group": (["trans-unit"], [], ["id", "resname"]),
    "trans-unit": (["source", "target", "alt-trans", "note"], ["id"], ["resname", "space", "approved"]),
    "source": (["x"], [], []),
    "target": (["x"], [], ["state"]),
    "alt-trans": (["source", "target"], [], ["alttranstype", "origin"]),
    "x": ([], ["id"], ["equiv-text"]),
    "note": ([], [], ["from"]),
}
VALUES = {
    "state": {"translated", "needs-review-translation"},
    "alttranstype": {"proposal", "previous-version"},
    "datatype": {"plaintext"},
    "space": {"preserve"},
    "version": {"1.2"},
}


def test_xliff_has_only_what_its_schema_allows(translated: Project, tmp_path: Path) -> None:
    path = tmp_path / "review.xlf"
    export_project(translated, path, format="xliff", everything=True)

    def local(name: str) -> str:
        return name.rpartition("}")[2]

    seen = set()
    ids: dict[str, list[str]] = {"group": [], "trans-unit": []}
    for element in ET.parse(path).iter():
        name = local(element.tag)
        seen.add(name)
        children, required, optional = ALLOWED[name]
        order = [children.index(local(child.tag)) for child in element]
        assert order == sorted(order), name
        attributes = {local(key): value for key, value in element.attrib.items()}
        assert set(required) <= set(attributes) <= {*required, *optional}, name
        for key, value in attributes.items():
            assert value in VALUES.get(key, {value})
        if name == "alt-trans":
            assert [local(child.tag) for child in element] == ["target"]
        if name in ids:
            ids[name].append(attributes["id"])
    assert {"x", "note", "alt-trans"} <= seen
    assert all(len(own) == len(set(own)) for own in ids.values())


def test_a_comment_in_each_row_is_stored_once(translated: Project, tmp_path: Path) -> None:
    rows = [
        replace(row, decision="drop", comment="not one")
        for row in build_export_rows(translated, everything=True)
        if row.item == "i0"
    ]
    assert len(rows) == 5
    csv_table.write(rows, tmp_path / "ana.csv", source="en", language="es")
    import_project(translated, tmp_path / "ana.csv", format="csv", reviewer="Ana")
    assert [made.comment for made in translated.store.list_decisions("i0")] == ["not one"]
