"""Outputs of a comparison before and after a change: terminal, page, figure, LaTeX and the command."""

import json
from pathlib import Path

import pytest

import tiltmeter
from tests.comparing.test_change import BIASED, assess, lean_scores
from tests.comparing.test_tuning_overlap import TUNED, with_texts
from tests.reports.hostile import SCRIPT
from tests.runs.made import run, saved
from tests.support.command import command
from tests.support.messages import assert_mentions
from tiltmeter.comparing.cell_selection import parse_target
from tiltmeter.comparing.change_assessment import assess_change
from tiltmeter.comparing.model_change import ModelChange
from tiltmeter.printable_text import create_plain_console
from tiltmeter.reports.change_page import build_change_figure, format_change_latex, render_change_page
from tiltmeter.reports.change_printout import print_change
from tiltmeter.reports.change_tables import build_change_table


@pytest.fixture(scope="module")
def change() -> ModelChange:
    before = with_texts(BIASED)
    after = with_texts(run(lean_scores({"gender": 52.0, "profession": 65.0, "race": 85.0})))
    return assess_change(
        [("a", before)],
        [("b", after)],
        targets=[parse_target("stereoset.SS[bias_type=gender]")],
        tuned=TUNED,
    )


def printed(change: ModelChange, **options: bool) -> str:
    console = create_plain_console()
    console.width = 200
    with console.capture() as capture:
        print_change(change, console, **options)
    return capture.get()


def test_the_answer_is_printed_first(change: ModelChange) -> None:
    text = printed(change)
    assert text.startswith("The change helped, but did harm elsewhere")
    assert_mentions(text, "race", "worse", "items flipped", "Warning", "Without the items", "--all")
    assert "profession" not in text.partition("items flipped")[0].partition("interval")[2]
    assert_mentions(printed(change, everything=True), "profession", "away", "Other inter-")


def test_the_table_has_a_row_for_each_result(change: ModelChange) -> None:
    table = build_change_table(change)
    assert len(table.rows) == len(change.rows)
    assert [row[0] for row in table.rows if row[0]] == ["target", "elsewhere", "quality"]
    assert {number for number, row in enumerate(change.rows) if row.outcome in ("closer", "farther")} == table.bold


def test_the_page_has_the_answer_the_figure_and_the_flipped_items(change: ModelChange) -> None:
    page = render_change_page(change, items=3)
    assert_mentions(page, "Did the change help?", "harm elsewhere", "Content warning", "Sentence inter-")
    assert page.count("<svg") > 1
    assert page.count('class="item"') == 3
    assert "<script" not in page


def test_the_figure_has_a_panel_for_each_measure(change: ModelChange) -> None:
    figure = build_change_figure(change)
    assert [panel.title for panel in figure.panels] == ["SS", "LMS"]
    assert figure.build_combined_spec()["vconcat" if "vconcat" in figure.build_combined_spec() else "concat"]


def test_latex(change: ModelChange) -> None:
    text = format_change_latex(change)
    assert_mentions(text, r"\begin{tabular}", "stereoset:en", r"\caption", r"\textbf")
    assert text.count(r"\\") == 1 + len(change.rows)


def test_hostile_names_are_escaped() -> None:
    before, after = (run(lean_scores(share, name=f"{SCRIPT}\x1b[31m")) for share in (65.0, 52.0))
    change = assess(before, after)
    assert SCRIPT not in render_change_page(change)
    assert "\x1b" not in change.to_frame().to_string() + repr(change)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    return saved(folder / "before", BIASED), saved(folder / "after", run(lean_scores(52.0)))


def test_the_command_writes_all_files(
    folders: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = folders
    texts = tmp_path / "tuned.txt"
    texts.write_text("My uncle repairs radios.\n", encoding="utf-8")
    words = ["compare", "--before", before, "--after", after, "--tuned-on", str(texts), "--quality-margin", "2"]
    files = ["--html", str(tmp_path / "a.html"), "--latex", str(tmp_path / "a.tex"), "--figures", str(tmp_path / "f")]
    assert command(monkeypatch, *words, *files) == 0
    output = capsys.readouterr()
    assert_mentions(output.out, "helped", "overlap", "unknown")
    assert_mentions(output.err, "a.html", "a.tex", "3 figure files")
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert command(monkeypatch, *words, "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["verdict"], content["quality_margin"]) == ("helped", 2.0)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--before", "BEFORE"], ["--before", "--after"]),
        (["--after", "AFTER"], ["--after", "--before"]),
        (["BEFORE", "AFTER", "--target", "stereoset"], ["--target", "--before"]),
        (["BEFORE", "AFTER", "--quality-margin", "0"], ["--quality-margin", "--before"]),
        (["--before", "BEFORE", "--after", "AFTER", "--by", "model"], ["--by", "leave it out"]),
        (["--before", "BEFORE", "--after", "AFTER", "--family", "run"], ["--family", "leave it out"]),
        (["--before", "BEFORE", "--after", "AFTER", "BEFORE"], ["without --before or --after"]),
        (["--before", "BEFORE", "--after", "BEFORE"], ["same run", "twice"]),
        (["--before", "BEFORE", "--after", "AFTER", "--quality-margin", "0"], ["--quality-margin 0"]),
        (["--before", "BEFORE", "--after", "AFTER", "--tuned-on", "none.txt"], ["none.txt"]),
        (["--before", "BEFORE", "--after", "AFTER", "--target", "stereoset.X"], ["'stereoset.X'", "SS"]),
        ([], ["No runs", "--before"]),
    ],
)
def test_wrong_options_are_errors(
    words: list[str],
    parts: list[str],
    folders: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {"BEFORE": folders[0], "AFTER": folders[1]}
    assert command(monkeypatch, "compare", *(names.get(word, word) for word in words)) == 2
    assert_mentions(capsys.readouterr().err, *parts)


def test_in_python(folders: tuple[str, str]) -> None:
    before, after = folders
    change = tiltmeter.assess_change(before, [after], targets="stereoset:en", tuned_on=["My uncle repairs radios."])
    assert isinstance(change, tiltmeter.ModelChange)
    assert change.verdict == "helped"
    flipped = change.list_flipped_items()
    assert len(flipped) == change.rows[0].difference.contrast.disagree
    assert set(flipped["direction"]) == {"away"}
    with pytest.raises(tiltmeter.UsageError):
        tiltmeter.assess_change([], after)
