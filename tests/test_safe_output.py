"""Escape sequences in data, names and messages never reach the terminal."""

import csv
import io
import json
import logging
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.reports import made
from tests.support.command import command
from tiltmeter.comparing import comparison
from tiltmeter.comparing.strongest_items import select_strongest_items
from tiltmeter.errors import UsageError
from tiltmeter.progress.progress import Progress
from tiltmeter.progress.terminal_progress import show_in_terminal
from tiltmeter.runs.portions import load_portions
from tiltmeter.runs.run_items import build_item_table
from tiltmeter.safe_output import guard_output

# Sets the clipboard; hides the following text; moves the cursor up and deletes the line; the same as a C1 character.
ESCAPES = "\x1b]52;c;ZWNobyBoaQ==\x07\x1b[8m\x1b[1A\x1b[2K\r\x9b2J\x08\u202e"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
OWN = re.compile("\x1b\\[[0-9;]*m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[str]:
    """Return the folders of runs with escape sequences in the names of models and items."""
    items = [
        {
            "id": f"{number} {ESCAPES}",
            "part": "intersentence",
            "language": "en",
            "bias_type": f"profession {ESCAPES}",
            "target": f"{ESCAPES} {number}",
            "context": f"{ESCAPES} {number}",
            "candidates": {
                role: f"{role} {ESCAPES} {number}" for role in ("stereotype", "anti-stereotype", "unrelated")
            },
        }
        for number in range(12)
    ]
    path = made.file_of(folder, items)
    texts = build_item_table([*load_portions(str(path))])
    folders = []
    for number in range(3):
        result = made.association([f"model {number} {ESCAPES}"], str(path))
        # The models differ, since runs with equal scores count as one model.
        scores = result.scores.assign(score=result.scores["score"] * (1 + number / 10))
        folders.append(str(replace(result, texts=texts, scores=scores).save(folder / f"run {number}")))
    return folders


@pytest.mark.parametrize(
    "words",
    [
        "show R0",
        "show R0 --by bias_type",
        "show R0 --top 3",
        "show R0 --json",
        "show R0 --csv",
        "show R0 --latex",
        "compare R0 R1",
        "compare R0 R1 --json",
        "items R0 R1 R2 --top 2",
        "items R0 R1 R2 --json",
        "check R0 --max SS=1",
        "export R0 --as jsonl",
        "export R0 --as model-card",
        "data show FILE",
        "data validate FILE",
        "data validate FILE --json",
        "data describe FILE",
        "run NAME",
        "show NAME",
        "NAME",
    ],
)
def test_no_command_prints_escape_sequences(
    words: str, runs: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    named = {"R0": runs[0], "R1": runs[1], "R2": runs[2], "NAME": f"x{ESCAPES}"}
    named["FILE"] = str(next(folder.glob("*.jsonl")))
    command(monkeypatch, *(named.get(word, word) for word in words.split()))
    printed = capsys.readouterr()
    assert len(printed.out + printed.err) > 20
    assert not UNSAFE.search(printed.out)
    assert not UNSAFE.search(printed.err)
    assert "Traceback" not in printed.err
    if "--json" in words:
        json.loads(printed.out)


def test_json_contains_the_original_data(
    runs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(monkeypatch, "show", runs[0], "--json")
    assert {record["model"] for record in json.loads(capsys.readouterr().out)} == {f"model 0 {ESCAPES}"}


MARKUP = "[/x] [bold red]hi[/] [link=http://example.org]here[/link] :smile:"


@pytest.mark.parametrize(
    "words", ["show R", "show R --by bias_type", "show R --top 2", "compare R R2", "items R R2 R3"]
)
def test_markup_is_text(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, name in enumerate(("R", "R2", "R3")):
        made.association([f"{MARKUP}{number}"], "starter/intrasentence:en").save(tmp_path / name)
    names = {name: str(tmp_path / name) for name in ("R", "R2", "R3")}
    command(monkeypatch, *(names.get(word, word) for word in words.split()))
    printed = capsys.readouterr()
    assert "Internal error" not in printed.err
    assert MARKUP in printed.out + printed.err or "--top" in words or "items" in words


def test_a_bar_with_escapes_and_markup(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "400")
    with guard_output(), show_in_terminal(f"{MARKUP} {ESCAPES}") as report:
        report(Progress(1, 4))
        report(Progress(4, 4))
    printed = capsys.readouterr().err
    assert MARKUP in OWN.sub("", printed)
    assert "⟨U+001B⟩]52;c;ZWNobyBoaQ==" in OWN.sub("", printed)
    assert "\x1b]" not in printed
    assert "\x1b[?25l" in printed  # from Rich, which hides the cursor while it draws


@pytest.mark.parametrize("words", ["show R0", "show NAME", "compare R0 R1"])
def test_colours_of_tiltmeter_are_kept(
    words: str, runs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    named = {"R0": runs[0], "R1": runs[1], "NAME": f"x{ESCAPES}"}
    command(monkeypatch, *(named.get(word, word) for word in words.split()))
    printed = "".join(capsys.readouterr())
    assert OWN.search(printed)
    assert not UNSAFE.search(OWN.sub("", printed))
    assert "\x1b[8m" not in OWN.findall(printed)


def test_all_ways_of_printing_are_guarded(capsys: pytest.CaptureFixture[str]) -> None:
    with guard_output():
        handler = logging.StreamHandler()
        print(ESCAPES, ESCAPES, file=sys.stderr)
        sys.stdout.writelines([ESCAPES, "\n"])
        handler.emit(logging.LogRecord("name", 30, "path", 1, ESCAPES, None, None))
        Console(stderr=True).print(f"[bold]{ESCAPES}", soft_wrap=True)
        Console().print({"key": ESCAPES})
    printed = capsys.readouterr()
    assert not UNSAFE.search(printed.out + printed.err)
    assert (printed.out + printed.err).count("⟨U+001B⟩]52;c;") == 5


def test_representations_of_results_are_safe(runs: list[str]) -> None:
    import tiltmeter

    result = tiltmeter.load_run(runs[0])
    compared = comparison.compare([("one", result), ("other", tiltmeter.load_run(runs[1]))])
    frames = [tiltmeter.summary(result), select_strongest_items(result, 2), compared.to_frame()]
    texts = [repr(result), repr(compared), *map(repr, compared.differences), *(frame.to_string() for frame in frames)]
    for text in texts:
        assert text
        assert not UNSAFE.search(text)
    assert "⟨U+001B⟩" in repr(result)
    assert not UNSAFE.search(str(UsageError(ESCAPES)))


def test_a_table_has_no_formulas_and_whole_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tiltmeter.csv_text import format_csv, remove_formula_guard

    cells = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "a\rb", "a\r\nb", 'say "so"', "1;2", " lead", "plain", ""]
    text = format_csv(["first", "second"], [[cell, cell] for cell in cells])
    header, *rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert header == ["first", "second"]
    assert [[remove_formula_guard(cell) for cell in row] for row in rows] == [[cell, cell] for cell in cells]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row)
    result = made.association(["=cmd|' /C calc'!A0", "@model"], "starter/intrasentence:en")
    result.save(tmp_path / "run")
    assert command(monkeypatch, "show", str(tmp_path / "run"), "--csv") == 0
    models = {row["model"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert models == {"'=cmd|' /C calc'!A0", "'@model"}
