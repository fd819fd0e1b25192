"""Tables in the layout of a paper: rows of several models, blocks, bold numbers and formats."""

from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tests.runs.made import chosen_scores, gest_scores, pair_scores, run, saved
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.attributes import DescribedModel, ModelAttributes
from tiltmeter.errors import UsageError
from tiltmeter.reports.layouts import lay_out_runs, list_layouts, load_layout
from tiltmeter.reports.layouts.laid_out_table import LaidOutTable
from tiltmeter.reports.layouts.layout_markup import format_layout_html, format_layout_latex, format_layout_markdown
from tiltmeter.reports.layouts.layout_terminal import print_layout
from tiltmeter.runs.result import Result

UNKNOWN = ModelAttributes({})


@cache
def made(model: str, ss: float, *languages: str, kind: str = "masked", protocol: str = "published") -> Result:
    tables = (
        chosen_scores(model, ss, n=120, language=language, seed=at, protocol=protocol)
        for at, language in enumerate(languages)
    )
    return run(*tables, kind=kind)


def name_runs(*results: Result) -> list[tuple[str, Result]]:
    return [(f"run-{at}", result) for at, result in enumerate(results)]


PAPER = name_runs(
    made("bert-base-cased", 70.0, "en"),
    made("dbmdz/bert-base-german-cased", 60.0, "de"),
    made("gpt2", 50.0, "en", kind="causal"),
    made("bert-base-multilingual-cased", 55.0, "en", "de"),
)


def read_rows(table: LaidOutTable) -> dict[str, dict[tuple[str, ...], str]]:
    rows = [row for block in table.blocks for row in block.rows]
    return {
        " ".join(row.labels): dict(zip(table.columns, (cell.text for cell in row.cells), strict=True)) for row in rows
    }


def list_bold(table: LaidOutTable) -> set[tuple[str, ...]]:
    return {
        (row.labels[0], *column)
        for block in table.blocks
        for row in block.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.bold
    }


def test_models_of_one_architecture_share_a_row() -> None:
    table = lay_out_runs(PAPER, load_layout("oeztuerk2023"), UNKNOWN)[0]
    rows = read_rows(table)
    assert list(rows) == ["BERT", "GPT-2", "mBERT"]
    assert [block.heading for block in table.blocks] == ["monolingual", "multilingual"]
    assert table.group_headings(0) == [("LMS", 2), ("SS", 2), ("ICAT", 2)]
    assert (rows["BERT"]["SS", "en"], rows["BERT"]["SS", "de"]) == ("70.00", "60.00")
    assert (rows["GPT-2"]["SS", "en"], rows["GPT-2"]["SS", "de"]) == ("50.00", "—")
    assert_mentions(table.row_note, "BERT: ", "dbmdz/bert-base-german-cased")


def test_bold_is_the_best_of_a_block_or_only_a_significant_one() -> None:
    layout = load_layout("oeztuerk2023")
    close = name_runs(made("bert-base-cased", 51.0, "en"), made("gpt2", 50.0, "en", kind="causal"))
    far = name_runs(made("bert-base-cased", 90.0, "en"), made("gpt2", 50.0, "en", kind="causal"))
    for runs, rule, expected in (
        (close, "paper", True),
        (close, "best", True),
        (close, "significant", False),
        (far, "significant", True),
        (far, "none", False),
    ):
        table = lay_out_runs(runs, layout, UNKNOWN, rule)[0]
        assert (("GPT-2", "SS", "en") in list_bold(table)) == expected
        assert ("BERT", "SS", "en") not in list_bold(table)
    overall = next(table for table in lay_out_runs(close, layout, UNKNOWN) if table.title.startswith("Table 4"))
    assert list_bold(overall) == set()  # the paper prints no bold numbers in Table 4


def test_own_models_get_a_row_by_their_attributes_or_their_own_row() -> None:
    runs = name_runs(*(result for _, result in PAPER), made("mine/one", 62.0, "en"), made("mine/two", 63.0, "en", "de"))
    given = ModelAttributes({"mine/one": DescribedModel("mine/one", {"row": "RoBERTa", "multilingual": True})})
    table = lay_out_runs(runs, load_layout("oeztuerk2023"), given)[0]
    names = [[" ".join(row.labels) for row in block.rows] for block in table.blocks]
    assert names == [["BERT", "GPT-2"], ["bert-base-multilingual-cased", "mine/two", "RoBERTa"]]


def test_rows_that_share_a_cell_are_split_by_method_language_or_model() -> None:
    by_method = name_runs(
        made("gpt2", 50.0, "en", kind="causal"),
        made("gpt2", 52.0, "en", kind="causal", protocol="published/orig"),
    )
    rows = read_rows(lay_out_runs(by_method, load_layout("oeztuerk2023"), UNKNOWN)[0])
    assert list(rows) == ["GPT-2 (gen)", "GPT-2 (gen_orig)"]
    by_model = name_runs(made("bert-base-cased", 70.0, "en"), made("dbmdz/bert-base-german-cased", 60.0, "en"))
    rows = read_rows(lay_out_runs(by_model, load_layout("oeztuerk2023"), UNKNOWN)[0])
    assert set(rows) == {"bert-base-cased", "dbmdz/bert-base-german-cased"}
    thesis = read_rows(lay_out_runs(PAPER, load_layout("oeztuerk2022"), UNKNOWN)[0])
    assert list(thesis) == ["BERT English", "BERT German", "GPT-2", "mBERT English", "mBERT German"]


def test_cells_with_several_numbers() -> None:
    tables = lay_out_runs(PAPER, load_layout("oeztuerk2023"), UNKNOWN)
    per_term = next(table for table in tables if table.title.startswith("Table 8"))
    records = [r for r in PAPER[0][1].records if r.part == "intrasentence"]
    record = {r.measure: r.value for r in records if (r.view, r.group) == ("targets", "all")}
    expected = f"({record['ICAT macro']:.2f}/{record['ICAT micro']:.2f})"
    assert read_rows(per_term)["BERT"]["ICAT (macro/micro)", "en"] == expected


def test_pairs_and_gest_have_layouts() -> None:
    pairs = name_runs(run(pair_scores("bert-base-multilingual-cased", n=60), family="pairs"))
    (table,) = lay_out_runs(pairs, load_layout("steinborn2022"), UNKNOWN)
    assert "±" in read_rows(table)["mBERT En"]["CPS",]
    gest = name_runs(run(gest_scores("bert", n=320), family="gest"))
    means, table = lay_out_runs(gest, load_layout("gest2024"), UNKNOWN)
    assert [column[0] for column in means.columns] == ["men", "women"]
    assert list(read_rows(means)) == ["bert 3"]
    assert table.columns[:2] == (("#1",), ("#2",))
    assert len(next(iter(read_rows(table).values()))["#1",].split()) == 3
    with raises_mentioning(UsageError, "LMS"):
        lay_out_runs(gest, load_layout("oeztuerk2023"), UNKNOWN)


@pytest.mark.parametrize("name", list_layouts())
def test_layouts_are_valid(name: str) -> None:
    layout = load_layout(name)
    assert layout.tables
    for table in layout.tables:
        assert len(table.rows) == len(table.heads)


def test_formats() -> None:
    (table, *_) = lay_out_runs(PAPER, load_layout("oeztuerk2023"), UNKNOWN)
    tables = [replace(table, title="Table 2 <&>")]
    latex = format_layout_latex(tables)
    assert r"\multicolumn{2}{c}{SS}" in latex
    assert r"\textbf{50.00}" in latex
    html = format_layout_html(tables)
    assert "<strong>50.00</strong>" in html
    assert "Table 2 &lt;&amp;&gt;" in html
    assert '<th scope="col" colspan="2">SS</th>' in html
    markdown = format_layout_markdown(tables)
    assert "| GPT-2 |" in markdown
    assert "**50.00**" in markdown
    for width, pieces in ((40, 2), (120, 1)):
        file = StringIO()
        print_layout(tables, Console(file=file, width=width))
        assert all(len(line.rstrip()) <= width for line in file.getvalue().splitlines())
        assert file.getvalue().count("monolingual") == file.getvalue().count("multilingual") == pieces


def test_show_with_a_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [saved(tmp_path / name, result) for name, result in PAPER[:3]]
    assert command(monkeypatch, "show", *folders, "--layout", "oeztuerk2023", "--markdown") == 0
    assert "| BERT |" in capsys.readouterr().out
    assert command(monkeypatch, "show", folders[0], "--layout", "oeztuerk2023", "--bold", "none") == 0
    assert "BERT" in capsys.readouterr().out
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('citation = "Mine"\n', encoding="utf-8")
    for options, parts in (
        (("--layout", "oeztuerk2032"), ["oeztuerk2023"]),
        (("--layout", "oeztuerk2023", "--bold", "all"), ["--bold", "significant"]),
        (("--layout", "oeztuerk2023", "--by", "target"), ["--by"]),
        (("--layout", "oeztuerk2023", "--csv"), ["--csv"]),
        (("--layout", "oeztuerk2023", "--html", "--latex"), ["--html", "--latex"]),
        (("--html",), ["--html", "--layout"]),
        (("--layout", str(wrong)), ["wrong.toml", "tables"]),
    ):
        assert command(monkeypatch, "show", folders[0], *options) == 2
        assert_mentions(capsys.readouterr().err, *parts)
