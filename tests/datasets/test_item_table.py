"""Items in a user's own CSV, TSV and Excel files: columns, encodings, and files with errors."""

from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.datasets import load_spec, parse_spec
from tiltmeter.datasets.column_mapping import add_columns, choose_columns
from tiltmeter.datasets.dataset_loader import describe_table
from tiltmeter.errors import DataError, TiltmeterError, UsageError
from tiltmeter.forms.association import AssociationItem
from tiltmeter.forms.gest import GestItem
from tiltmeter.forms.pairs import PairItem
from tiltmeter.runs.evaluate import evaluate

HEADER = "more,less,bias_type\n"
PAIR = "Our neighbour cooks.,Our colleague cooks.,role\n"


def write(folder: Path, content: str | bytes, name: str = "mine.csv") -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def read(spec: str) -> list[object]:
    return list(load_spec(parse_spec(spec)))


@pytest.mark.parametrize(
    "content",
    [
        HEADER + PAIR,
        b"\xef\xbb\xbf" + (HEADER + PAIR).encode(),
        (HEADER + PAIR).encode("utf-16"),
        (HEADER + PAIR).replace(",", ";"),
        (HEADER + PAIR).replace("\n", "\r\n"),
        "\n" + HEADER + "\n,,\n" + PAIR + "\n",
        "Sent More,SENT_LESS,Category,comment\n" + PAIR.replace("\n", ",x\n"),
        "id;more;less;bias_type;;\n1;Our neighbour cooks.;Our colleague cooks.;role;;\n",
    ],
)
def test_pairs_of_spreadsheet_programs(content: str | bytes, tmp_path: Path) -> None:
    (item,) = read(f"{write(tmp_path, content)}:en")
    assert item == PairItem("1", "en", "role", "", "Our neighbour cooks.", "Our colleague cooks.")


def test_a_quoted_text_may_contain_separators_and_line_breaks(tmp_path: Path) -> None:
    text = HEADER + '"Anna, our ""chef"",\ncooks.","Otto, our ""chef"",\ncooks.",role\n'
    with raises_mentioning(DataError, "mine.csv", "line 5", "'less'"):
        read(f"{write(tmp_path, f'{text}only one cell')}:en")
    (item,) = read(f"{write(tmp_path, text)}:en")
    assert isinstance(item, PairItem)
    assert item.more == 'Anna, our "chef",\ncooks.'


@pytest.mark.parametrize(
    ("language", "encoding", "word"),
    [("de", "cp1252", "Köchin"), ("pl", "cp1250", "sąsiadka"), ("ru", "cp1251", "соседка"), ("tr", "cp1254", "komşu")],
)
def test_the_encoding_of_windows_depends_on_the_language(
    language: str, encoding: str, word: str, tmp_path: Path
) -> None:
    file = write(tmp_path, (HEADER + PAIR.replace("Our neighbour", word)).encode(encoding))
    (item,) = read(f"{file}:{language}")
    assert isinstance(item, PairItem)
    assert item.more == f"{word} cooks."
    assert_mentions(describe_table(f"{file}:{language}") or "", encoding, "commas", f"language {language}")


def test_candidates_and_sentences(tmp_path: Path) -> None:
    candidates = (
        "context;stereotype;anti-stereotype;unrelated;target;bias_type;language\n"
        "The chef is BLANK.;kind;rude;seven;chef;profession;en\n"
        "The chef came home.;He cooked.;He slept.;Seven is odd.;chef;profession;en\n"
    )
    first, second = read(write(tmp_path, candidates))
    assert isinstance(first, AssociationItem)
    assert isinstance(second, AssociationItem)
    assert (first.part, second.part) == ("intrasentence", "intersentence")
    assert {c.role: c.sentence for c in first.candidates}["stereotype"] == "The chef is kind."
    file = write(tmp_path, "Text\tstereotype\nI cook.\t9.0\n", "mine.tsv")
    (sentence,) = read(f"{file}:en")
    assert sentence == GestItem("1", "en", 9, "I cook.")


def test_excel_files(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    empty, sheet = book.active, book.create_sheet("items")
    assert empty is not None
    for row in (["No", "Stereotype", "Anti-stereotype", "votes"], [7, "A=B.", "A=C.", 5]):
        sheet.append(row)
    book.save(tmp_path / "mine.xlsx")
    (item,) = read(f"{tmp_path / 'mine.xlsx'}:en")
    assert item == PairItem("7", "en", "other", "", "A=B.", "A=C.", votes=5)
    sheet["B2"] = "=1+1"
    book.save(tmp_path / "mine.xlsx")
    with raises_mentioning(DataError, "mine.xlsx", "B2", "formula"):
        read(f"{tmp_path / 'mine.xlsx'}:en")
    with raises_mentioning(DataError, "broken.xlsx", "Excel"):
        read(f"{write(tmp_path, b'no zip', 'broken.xlsx')}:en")


def test_columns_are_named_by_the_user(tmp_path: Path) -> None:
    file = write(tmp_path, '"A, first","B]",typ\nOur neighbour cooks.,Our colleague cooks.,role\n')
    with raises_mentioning(DataError, "more", "less", "'A, first'", "--columns"):
        read(f"{file}:en")
    (spec,) = add_columns([f"{file}:en"], ["more=A, first,less=B]", "bias_type=typ"])
    (item,) = read(spec)
    assert isinstance(item, PairItem)
    assert (item.less, item.bias_type) == ("Our colleague cooks.", "role")
    for given in ("more=C", "mor=typ", "more", "more=typ,more=typ", "more=typ,context=typ"):
        with pytest.raises(TiltmeterError):
            read(add_columns([f"{file}:en"], [given])[0])
    with raises_mentioning(UsageError, "--columns", "CSV"):
        add_columns(["starter"], ["more=A"])


def test_a_given_column_decides_the_form() -> None:
    header = ["stereotype", "anti-stereotype", "sentence"]
    assert choose_columns(header, {})[0] == "gest"
    form, columns = choose_columns(header, {"more": "stereotype"})
    assert (form, columns["less"]) == ("pairs", "anti-stereotype")


HOSTILE: list[tuple[Callable[[Path], str], str]] = [
    (lambda folder: write(folder, ""), "no items"),
    (lambda folder: write(folder, b"\x00\x01"), "null"),
    (lambda folder: write(folder, b"\xff\xfe\x00\xd8"), "UTF-16"),
    (lambda folder: write(folder, b"more,less\n\x81,\x8d\n"), "line 2"),
    (lambda folder: write(folder, 'more,less\n"open,x\n'), "CSV"),
    (lambda folder: write(folder, "more,more\na,b\n"), "two columns"),
    (lambda folder: write(folder, "more,less\na,b,c\n"), "line 2"),
    (lambda folder: write(folder, "more,less\n,b\n"), "column 'more'"),
    (lambda folder: write(folder, "sentence,stereotype\nI cook.,warm\n"), "column 'stereotype'"),
    (lambda folder: write(folder, "one,two\na,b\n"), "--columns"),
    (lambda folder: str(folder / "absent.csv"), "absent.csv"),
]


@pytest.mark.parametrize(("make", "word"), HOSTILE)
def test_files_with_errors_are_explained(make: Callable[[Path], str], word: str, tmp_path: Path) -> None:
    with raises_mentioning(DataError, ".csv", word):
        read(f"{make(tmp_path)}:en")


def test_the_language_is_needed(tmp_path: Path) -> None:
    with raises_mentioning(DataError, "language", "FILE.csv:de"):
        read(write(tmp_path, HEADER + PAIR))


def test_tables_are_validated_converted_and_measured(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"Our neighbour {n} cooks.;Our colleague {n} cooks.\n" for n in range(6))
    file = write(tmp_path, f"first;second\n{rows}")
    columns = ("--columns", "more=first,less=second")
    out = tmp_path / "mine.jsonl"
    assert command(monkeypatch, "data", "convert", file, str(out), "--language", "en", *columns) == 0
    assert len(read(str(out))) == 6
    assert command(monkeypatch, "data", "validate", file, "--language", "en", *columns) == 0
    assert_mentions(capsys.readouterr().err, "more = 'first'", "less = 'second'", "semicolons")
    assert command(monkeypatch, "run", causal, "--on", f"{file}:en", *columns, "--dry-run") == 0
    assert_mentions(capsys.readouterr().err, "more = 'first'")
    assert command(monkeypatch, "run", causal, "--on", f"{file}:en", "--dry-run") == 2
    assert_mentions(capsys.readouterr().err, "mine.csv", "--columns")
    result = evaluate(causal, add_columns([f"{file}:en"], [columns[1]]))
    assert (result.manifest.data[0].items, result.manifest.data[0].language) == (6, "en")
