"""Files that people or their programs have damaged: nothing is lost or silently wrong, and errors name the place."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.making.exchange import export_project, import_project
from tiltmeter.making.project import Project

Table = list[list[str]]


def write_csv(path: Path, table: Table, delimiter: str = ",") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(table)


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
    ("change", "parts"),
    [
        (without("item"), ["no column 'item'"]),
        (without("decision"), ["no column 'decision'"]),
        (without("corrected"), ["no column 'corrected'"]),
        (without("comment"), ["no column 'comment'"]),
        (lambda table: table[:1], ["has no rows"]),
        (lambda table: [], ["no column 'item'"]),
        (lambda table: [table[0], [*table[1], "rest of a text"]], ["row 2", "more cells"]),
        (lambda table: [[*table[0], "decision"], *table[1:]], ["'decision' twice"]),
    ],
)
def test_tables_that_are_refused(
    translated: Project, tmp_path: Path, change: Callable[[Table], Table], parts: list[str]
) -> None:
    path = tmp_path / "review.csv"
    write_csv(path, change(accepted_table(translated, path)))
    with raises_mentioning(DataError, str(path), *parts):
        import_project(translated, path, format="csv", reviewer="Ana")
    assert translated.store.count_decisions_by_reviewer() == {}


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (with_cell(2, "item", "12"), ["row 3, item 12:", "no such item", "XLSX"]),
        (with_cell(2, "item", ""), ["row 3, context:", "item id is missing"]),
        (lambda table: [*table[:2], *table[3:]], ["item i0, context:", "context is missing"]),
        (lambda table: [*table, table[2]], ["item i0, context:", "repeats row 3"]),
        (with_cell(2, "translation", "el coc"), ["`translation` was changed", "from 'el cocinero", "`corrected`"]),
        (with_cell(2, "source", "The cook"), ["context:", "'The cook was very BLANK today number0.'", "changed"]),
        (with_cell(2, "corrected", "El cocinero era ___."), ["BLANK 0 times", "source text contains it 1 times"]),
        (with_cell(2, "decision", "yes"), ["'yes'", "accept or drop"]),
        (with_cell(2, "decision", "drop"), ["different decisions"]),
    ],
)
def test_rows_in_conflict_decide_nothing(
    translated: Project, tmp_path: Path, change: Callable[[Table], Table], parts: list[str]
) -> None:
    path = tmp_path / "review.csv"
    write_csv(path, change(accepted_table(translated, path)))
    done = import_project(translated, path, format="csv", reviewer="Ana")
    assert any(all(part in str(conflict) for part in parts) for conflict in done.conflicts)
    assert (done.accepted, done.edited, done.dropped, done.undecided) == (3, 0, 0, 0)
    assert "i0" not in translated.store.list_decided_items()


def test_what_spreadsheets_do_is_understood(translated: Project, tmp_path: Path) -> None:
    path = tmp_path / "review.csv"
    header, *rows = accepted_table(translated, path)
    table = [[name.capitalize() for name in header], *([f"{row[0]} ", *row[1:]] for row in rows), [""] * len(header)]
    write_csv(path, table, delimiter=";")
    done = import_project(translated, path, format="csv", reviewer="Ana")
    assert (done.accepted, done.conflicts) == (4, [])


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings(translated: Project, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "review.csv"
    path.write_bytes("item,comment\ni0,sí\n".encode(encoding))
    with raises_mentioning(DataError, "review.csv is not UTF-8", "“CSV UTF-8”"):
        import_project(translated, path, format="csv", reviewer="Ana")


def test_items_that_cannot_be_made_are_not_accepted(translated: Project, tmp_path: Path) -> None:
    with translated.store.begin_transaction():  # as if it were missing in a file of translations
        translated.store._db.execute("DELETE FROM texts WHERE item = 'i0' AND role = 'text' AND field = 'target_term'")
    path = tmp_path / "review.csv"
    write_csv(path, accepted_table(translated, path))
    done = import_project(translated, path, format="csv", reviewer="Ana")
    (conflict,) = done.conflicts
    assert_mentions(str(conflict), "item i0:", "invalid", "missing: target_term")
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
    with raises_mentioning(DataError, str(path), "row 3: `corrected`", "formula"):
        import_project(translated, path, format="xlsx", reviewer="Ana")

    def merged_and_second(book: object, sheet: object) -> None:
        for row in range(2, sheet.max_row + 1):  # type: ignore[attr-defined]
            sheet.cell(row, 9).value = "accept"  # type: ignore[attr-defined]
        sheet.merge_cells("A2:A6")  # type: ignore[attr-defined]
        book.create_sheet("notes", 0)["A1"] = "mine"  # type: ignore[attr-defined]

    saved(merged_and_second)
    done = import_project(translated, path, format="xlsx", reviewer="Ana")
    assert done.accepted == 3
    assert_mentions(str(done.conflicts[0]), "row 3, context:", "cells merged")


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
    ("change", "parts"),
    [
        (lambda text: text.replace('target-language="es"', 'target-language="de"'), ["into 'de'", "'es'"]),
        (lambda text: re.sub(r"<alt-trans.*?</alt-trans>", "", text, flags=re.DOTALL), ["alt-trans"]),
        (lambda text: text.replace('id="i0#context"', 'id="7"'), ["unit '7'"]),
        (lambda text: text.replace("document:1.2", "document:2.0"), ["XLIFF 1.2"]),
        (lambda text: text[: len(text) // 2], ["not valid XML"]),
        (lambda text: re.sub(r"<group.*</group>", "", text, flags=re.DOTALL), ["no trans-unit"]),
    ],
)
def test_xliff_that_is_refused(
    translated: Project, tmp_path: Path, change: Callable[[str], str], parts: list[str]
) -> None:
    path = tmp_path / "review.xlf"
    export_project(translated, path, format="xliff")
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with raises_mentioning(DataError, str(path), *parts):
        import_project(translated, path, format="xliff", reviewer="Ana")


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ('review = "open"', 'reveiw = "open"', ["`reveiw`", "mean `review`?"]),
        ('review = "open"', 'review = "al"', ["`review`", '"open" or "all"', "'al'"]),
        ("reviewers_per_item = 1", 'reviewers_per_item = "2"', ["`reviewers_per_item`", "whole number", "'2'"]),
        ("agreeing = 1", "agreeing = 3", ["`agreeing`", "at most `reviewers_per_item`"]),
        ("agreeing = 1", "agreeing = 0", ["`agreeing`", "at least 1"]),
        ("filled = true", 'filled = "yes"', ["`filled`", "true or false"]),
        ("placeholders = []", 'placeholders = "tag"', ["`placeholders`", "list of texts"]),
        ('system = "apertium:eng-xyz"\n', "", ["`system` is missing"]),
        ("citation", "citaton", ["`citaton` in [facts]"]),
        ('\nlanguage = "es"', '\nlanguage = "fr"', ["`language`", "started with 'es'"]),
        ('form = "association"', 'form = "pairs"', ["`form`", "started with 'association'"]),
        ('form = "association"', 'form = "asociation"', ["'asociation'"]),
        ("filled = true", "filled = yes", ["not valid TOML"]),
    ],
)
def test_typos_in_the_settings(project: Project, run: Run, old: str, new: str, parts: list[str]) -> None:
    path = project.folder / "project.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert_mentions(run("make", "status", str(project.folder), code=2), *parts)


def test_files_that_are_missing_or_cannot_be_written(translated: Project, run: Run, tmp_path: Path) -> None:
    folder, file = str(translated.folder), tmp_path / "file"
    file.touch()
    assert "cannot be written" in run("make", "export", folder, "--out", f"{file}/x.csv", code=2)
    assert "cannot be written" in run("make", "source", folder, "--out", f"{file}/x.csv", code=2)
    assert "is a file" in run("make", "new", "gest", "--from-scratch", "--to", "sk", "--out", str(file), code=2)
    assert "cannot be written" in run(
        "make", "publish", folder, "--out", str(file), "--licence", "MIT", "--open", "keep", code=2
    )
    assert "the reason 'x'" in run("make", "status", folder, "--figure", str(tmp_path), "--reason", "x", code=2)
    translated.close()
    for path in translated.folder.glob("project.sqlite*"):
        path.unlink()
    assert "has no project.sqlite" in run("make", "status", folder, code=2)
    assert "apertum:eng-spa" in run(
        "make", "new", "starter", "--to", "es", "--with", "apertum:eng-spa", "--out", str(tmp_path / "n"), code=2
    )
    assert not (tmp_path / "n").exists()


def test_guidelines_that_cannot_be_read(project: Project, run: Run) -> None:
    path = project.folder / "project.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace('guidelines = ""', 'guidelines = "g.md"'), encoding="utf-8"
    )
    assert "g.md" in run("make", "review", str(project.folder), "--guidelines", code=2)
    (project.folder / "g.md").write_bytes("Größe".encode("latin-1"))
    assert "g.md is not UTF-8" in run("make", "review", str(project.folder), "--guidelines", code=2)
