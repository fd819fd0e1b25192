"""Files that people or their programs have spoilt: nothing is lost or silently wrong, and the message says where."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from perf.breaking_engine import BreakingEngine
from tests.support.command import Run
from tiltmeter.errors import DataError
from tiltmeter.making.exchange import export_project, import_project
from tiltmeter.making.project import Project
from tiltmeter.making.translation_step import translate_project

Table = list[list[str]]


@pytest.fixture
def translated(project: Project) -> Project:
    translate_project(project, BreakingEngine(way="dropped"))
    return project


def accepted_table(project: Project, path: Path) -> Table:
    export_project(project, path, format="csv")
    header, *rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig")))
    decision = header.index("decision")
    return [header, *([*row[:decision], "accept", *row[decision + 1 :]] for row in rows)]


def without(name: str) -> Callable[[Table], Table]:
    def change(table: Table) -> Table:
        column = table[0].index(name)
        return [row[:column] + row[column + 1 :] for row in table]

    return change


def with_cell(row: int, name: str, text: str) -> Callable[[Table], Table]:
    def change(table: Table) -> Table:
        column = table[0].index(name)
        return [[*cells[:column], text, *cells[column + 1 :]] if n == row else cells for n, cells in enumerate(table)]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("item"), "no column 'item'"),
        (without("decision"), "no column 'decision'"),
        (without("corrected"), "no column 'corrected'"),
        (without("comment"), "no column 'comment'"),
        (lambda table: table[:1], "has no rows"),
        (lambda table: [], "no column 'item'"),
        (lambda table: [table[0], [*table[1], "rest of a text"]], "row 2 has more cells than there are columns"),
        (lambda table: [[*table[0], "decision"], *table[1:]], "'decision' twice"),
    ],
)
def test_tables_that_are_refused(
    translated: Project, tmp_path: Path, change: Callable[[Table], Table], message: str
) -> None:
    path = tmp_path / "review.csv"
    table = change(accepted_table(translated, path))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(table)
    with pytest.raises(DataError, match=message):
        import_project(translated, path, format="csv", reviewer="Ana")
    assert translated.store.reviewers() == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_cell(2, "item", "12"), "row 3, item 12: the project has no such item; spreadsheets change ids"),
        (with_cell(2, "item", ""), "row 3, context: it has no item id; were cells merged?"),
        (lambda table: [*table[:2], *table[3:]], "item i0, context: its row of context is missing"),
        (lambda table: [*table, table[2]], "item i0, context: it is in row 3 already"),
        (with_cell(2, "translation", "el coc"), "its `translation` was changed in the file, from 'el cocinero"),
        (with_cell(2, "source", "The cook"), "context: its source is 'The cook was very BLANK today number0.'"),
        (with_cell(2, "corrected", "El cocinero era ___."), "has BLANK 0 times, and its source 1 times"),
        (with_cell(2, "decision", "yes"), "the decision 'yes' is not accept or drop"),
        (with_cell(2, "decision", "drop"), "its rows have different decisions"),
    ],
)
def test_rows_in_conflict_decide_nothing(
    translated: Project, tmp_path: Path, change: Callable[[Table], Table], message: str
) -> None:
    path = tmp_path / "review.csv"
    table = change(accepted_table(translated, path))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(table)
    done = import_project(translated, path, format="csv", reviewer="Ana")
    assert any(message in str(conflict) for conflict in done.conflicts)
    assert (done.accepted, done.edited, done.dropped, done.undecided) == (3, 0, 0, 0)
    assert "i0" not in translated.store.list_decided_items()


def test_what_spreadsheets_do_is_understood(translated: Project, tmp_path: Path) -> None:
    path = tmp_path / "review.csv"
    header, *rows = accepted_table(translated, path)
    table = [[name.capitalize() for name in header], *([f"{row[0]} ", *row[1:]] for row in rows), [""] * len(header)]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";").writerows(table)
    done = import_project(translated, path, format="csv", reviewer="Ana")
    assert (done.accepted, done.conflicts) == (4, [])


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings(translated: Project, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "review.csv"
    path.write_bytes("item,comment\ni0,sí\n".encode(encoding))
    with pytest.raises(DataError, match=r"review\.csv is not UTF-8 .* “CSV UTF-8”"):
        import_project(translated, path, format="csv", reviewer="Ana")


def test_items_that_cannot_be_made_are_not_accepted(project: Project, tmp_path: Path) -> None:
    translate_project(project, BreakingEngine(way="dropped"))
    with project.store.begin_transaction():  # as if a file of translations lacked it
        project.store._db.execute("DELETE FROM texts WHERE item = 'i0' AND role = 'text' AND field = 'target_term'")
    path = tmp_path / "review.csv"
    table = accepted_table(project, path)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(table)
    done = import_project(project, path, format="csv", reviewer="Ana")
    (conflict,) = done.conflicts
    assert "item i0: it cannot be kept like this: there is no translation: target_term" in str(conflict)
    assert done.accepted == 3


def test_excel_files(translated: Project, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install 'tiltmeter[xlsx]'")
    path = tmp_path / "review.xlsx"

    def saved(change: Callable[..., None]) -> None:
        export_project(translated, path, format="xlsx")
        book = openpyxl.load_workbook(path)
        change(book, book.active)
        book.save(path)

    def formula(_book: object, sheet: dict[str, object]) -> None:
        sheet["H3"] = "=E3"

    saved(formula)
    with pytest.raises(DataError, match=r"row 3: `corrected` is a formula; put its value in its place"):
        import_project(translated, path, format="xlsx", reviewer="Ana")

    def merged_and_second(book: object, sheet: object) -> None:
        for row in range(2, sheet.max_row + 1):  # type: ignore[attr-defined]
            sheet.cell(row, 9).value = "accept"  # type: ignore[attr-defined]
        sheet.merge_cells("A2:A6")  # type: ignore[attr-defined]
        book.create_sheet("notes", 0)["A1"] = "mine"  # type: ignore[attr-defined]

    saved(merged_and_second)
    done = import_project(translated, path, format="xlsx", reviewer="Ana")
    assert done.accepted == 3
    assert "row 3, context: it has no item id; were cells merged?" in str(done.conflicts[0])


def final(text: str) -> str:
    return re.sub(r'state="[a-z-]+"', 'state="final"', text)


@pytest.mark.parametrize(
    ("change", "accepted", "dropped", "conflict"),
    [
        (final, 4, 0, ""),
        (lambda text: text.replace("<trans-unit ", '<trans-unit approved="yes" '), 4, 0, ""),
        # One unit of four is final, so that the item is not done.
        (lambda text: final(text).replace('state="final"', 'state="translated"', 1), 3, 0, ""),
        (lambda text: final(text).replace("</trans-unit>", "<note>drop: odd</note></trans-unit>", 1), 3, 1, ""),
        (lambda text: re.sub(r"<target state=.*?</target>", "", final(text), count=1), 3, 0, "target is empty"),
        (lambda text: re.sub(r"(<target state=[^>]*>).*?<", r"\1<", final(text), count=1), 3, 0, "target is empty"),
    ],
)
def test_xliff_as_programs_write_it(
    translated: Project,
    tmp_path: Path,
    change: Callable[[str], str],
    accepted: int,
    dropped: int,
    conflict: str,
) -> None:
    path = tmp_path / "review.xlf"
    export_project(translated, path, format="xliff")
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    done = import_project(translated, path, format="xliff", reviewer="Ana")
    assert (done.accepted, done.dropped) == (accepted, dropped)
    assert [conflict in str(found) for found in done.conflicts] == ([True] if conflict else [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('target-language="es"', 'target-language="de"'), "into 'de', and the project is in"),
        (lambda text: re.sub(r"<alt-trans.*?</alt-trans>", "", text, flags=re.DOTALL), "lacks its alt-trans"),
        (lambda text: text.replace('id="i0#context"', 'id="7"'), "unit '7' is not one that was exported"),
        (lambda text: text.replace("document:1.2", "document:2.0"), "not an XLIFF 1.2 file"),
        (lambda text: text[: len(text) // 2], "is not XML"),
        (lambda text: re.sub(r"<group.*</group>", "", text, flags=re.DOTALL), "has no trans-unit"),
    ],
)
def test_xliff_that_is_refused(translated: Project, tmp_path: Path, change: Callable[[str], str], message: str) -> None:
    path = tmp_path / "review.xlf"
    export_project(translated, path, format="xliff")
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        import_project(translated, path, format="xliff", reviewer="Ana")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('review = "open"', 'reveiw = "open"', "`reveiw` has no meaning here; did you mean `review`?"),
        ('review = "open"', 'review = "al"', '`review` should be "open" or "all", and is \'al\''),
        ("reviewers_per_item = 1", 'reviewers_per_item = "2"', "should be a whole number, and is '2'"),
        ("agreeing = 1", "agreeing = 3", "`agreeing` should be at most `reviewers_per_item`"),
        ("agreeing = 1", "agreeing = 0", "a whole number from 1"),
        ("filled = true", 'filled = "yes"', "true or false"),
        ("placeholders = []", 'placeholders = "tag"', "a list of texts"),
        ('system = "apertium:eng-xyz"\n', "", "`system` is missing"),
        ("citation", "citaton", "`citaton` in [facts] has no meaning here"),
        ('\nlanguage = "es"', '\nlanguage = "fr"', "the project was started with 'es'; set it back"),
        ('form = "association"', 'form = "pairs"', "the project was started with 'association'"),
        ('form = "association"', 'form = "asociation"', "There is no form of items called 'asociation'"),
        ("filled = true", "filled = yes", "is not valid TOML"),
    ],
)
def test_typos_in_the_settings(project: Project, run: Run, old: str, new: str, message: str) -> None:
    path = project.folder / "project.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert message in run("make", "status", str(project.folder), code=2)


def test_files_that_are_missing_or_cannot_be_written(project: Project, run: Run, tmp_path: Path) -> None:
    folder, file = str(project.folder), tmp_path / "file"
    file.touch()
    translate_project(project, BreakingEngine(way="dropped"))
    assert "cannot be written" in run("make", "export", folder, "--out", f"{file}/x.csv", code=2)
    assert "cannot be written" in run("make", "source", folder, "--out", f"{file}/x.csv", code=2)
    assert "is a file" in run("make", "new", "gest", "--from-scratch", "--to", "sk", "--out", str(file), code=2)
    assert "cannot be written" in run(
        "make", "publish", folder, "--out", str(file), "--licence", "MIT", "--open", "keep", code=2
    )
    assert "no figure; reasons are" in run("make", "status", folder, "--figure", str(tmp_path), "--reason", "x", code=2)
    project.close()
    for path in project.folder.glob("project.sqlite*"):
        path.unlink()
    assert "has no project.sqlite" in run("make", "status", folder, code=2)
    assert "is not a translation system" in run(
        "make", "new", "starter", "--to", "es", "--with", "apertum:eng-spa", "--out", str(tmp_path / "n"), code=2
    )
    assert not (tmp_path / "n").exists()


def test_guidelines_that_cannot_be_read(project: Project, run: Run) -> None:
    path = project.folder / "project.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace('guidelines = ""', 'guidelines = "g.md"'), encoding="utf-8"
    )
    assert "no file" in run("make", "review", str(project.folder), "--guidelines", code=2)
    (project.folder / "g.md").write_bytes("Größe".encode("latin-1"))
    assert "g.md is not UTF-8" in run("make", "review", str(project.folder), "--guidelines", code=2)
