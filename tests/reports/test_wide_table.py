"""Tables of several runs: the marks of the best numbers, and the layout in terminals and in LaTeX."""

import csv
import io
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from tests.runs.made import association_scores, chosen_scores, gest_scores, pair_scores, run, saved
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.best_model import find_best_model
from tiltmeter.comparing.cells import build_cells
from tiltmeter.comparing.comparison import compare
from tiltmeter.errors import UsageError
from tiltmeter.reports.wide_latex import format_wide_latex
from tiltmeter.reports.wide_table import WideColumn, WideTable, build_wide_tables
from tiltmeter.reports.wide_terminal import print_wide_tables
from tiltmeter.runs.result import Result

Runs = tuple[tuple[str, Result], ...]

_FAMILIES = {"stereoset": "association", "gender-pairs": "pairs"}


@cache
def models(*ss: float, n: int = 120, kind: str = "masked", first: int = 0) -> Runs:
    """Return models with these SS in English and German and independent answers to single items."""
    return tuple(
        (
            f"run-{number}",
            run(
                *(
                    chosen_scores(f"made/m_{number}", share, n=n, language=language, seed=10 * number + at)
                    for at, language in enumerate(("en", "de"))
                ),
                kind=kind,
            ),
        )
        for number, share in enumerate(ss, start=first)
    )


def best(table: WideTable) -> dict[str, set[tuple[str, str]]]:
    return {
        row.model: {(column.language, column.measure) for column in row.best}
        for block in table.blocks
        for row in block.rows
        if row.best
    }


def test_a_row_for_each_model_and_a_column_for_each_language_and_measure() -> None:
    runs = models(70.0, 50.0, 72.0)
    (table,) = build_wide_tables(runs)
    assert (table.benchmark, table.part, table.counts) == ("stereoset", "overall", "n = 240")
    assert [group for group, _ in table.groups] == ["de", "en"] or [group for group, _ in table.groups] == ["en", "de"]
    assert [column.measure for column in table.groups[0][1]] == ["LMS", "SS", "ICAT"]
    (block,) = table.blocks
    values = {(row.model, column): record.value for row in block.rows for column, record in row.numbers.items()}
    for name, result in runs:
        for record in result.records:
            if record.part == "overall" and record.view == "all" and record.measure in ("LMS", "SS", "ICAT"):
                key = (f"made/m_{name[-1]}", WideColumn(record.language, record.measure))
                assert values[key] == record.value
    (by_measure,) = build_wide_tables(runs, grouping="measure", measures=["SS"])
    assert by_measure.groups == [("SS", [WideColumn(column.language, "SS") for column in by_measure.columns])]


def test_the_best_is_marked_only_if_it_is_told_apart_from_all_others() -> None:
    """SS 50 is significantly better than 70 and 72, but not than 48. ICAT depends on SS; LMS is equal for all."""
    (table,) = build_wide_tables(models(70.0, 50.0, 72.0))
    assert best(table) == {"made/m_1": {(language, measure) for language in ("en", "de") for measure in ("SS", "ICAT")}}
    (table,) = build_wide_tables(models(70.0, 50.0, 72.0, 48.0))
    assert best(table) == {}


def test_the_best_is_what_compare_says_with_the_correction_for_the_number_of_models() -> None:
    runs = [
        (str(seed), run(association_scores(f"m{seed}", seed=seed, lean=lean)))
        for seed, lean in enumerate((0.0, 0.45, 0.6, 1.2, 1.5))
    ]
    for measure in ("SS", "LMS", "ICAT"):
        differences = [d for d in compare(runs, measures=[measure]).differences if d.part == "overall"]
        wins = dict.fromkeys((f"m{seed}" for seed in range(5)), 0)
        for d in differences:
            if d.contrast.p_value * 4 < 0.05:
                wins[d.left.label] += d.contrast.farther_high < 0
                wins[d.right.label] += d.contrast.farther_low > 0
        expected = next((name for name, count in wins.items() if count == 4), None)
        cells = [cell for name, result in runs for cell in build_cells(name, result) if cell.part == "overall"]
        found = find_best_model(cells, measure)
        assert (found.model if found else None) == expected


def test_the_correction_for_the_number_of_models_counts() -> None:
    """Both other models differ from the best with p < 0.05, but one of them with p > 0.025."""
    runs = [
        (f"r{at}", run(association_scores(f"m{at}", seed=33 + at, lean=lean, n=40, parts=("intrasentence",))))
        for at, lean in enumerate((0.0, 0.9, 0.9))
    ]
    cells = [cell for name, result in runs for cell in build_cells(name, result)]
    for others in ([1], [2]):
        found = find_best_model([cells[0], *(cells[at] for at in others)], "SS")
        assert found is cells[0]
    assert find_best_model(cells, "SS") is None


def test_models_that_are_equally_far_on_both_sides_are_not_told_apart() -> None:
    (table,) = build_wide_tables(models(40.0, 60.0))
    assert not any(measure == "SS" for columns in best(table).values() for _, measure in columns)


def test_models_of_different_kinds_are_in_blocks_of_their_own() -> None:
    (table,) = build_wide_tables([*models(70.0, 50.0), *models(52.0, 75.0, kind="causal", first=5)])
    assert [(block.conditions, len(block.rows)) for block in table.blocks] == [
        ("masked, published", 2),
        ("causal, published", 2),
    ]
    assert set(best(table)) == {"made/m_1", "made/m_5"}
    assert r"\multicolumn{7}{l}{\emph{causal, published}} \\" in format_wide_latex([table]).splitlines()


def test_what_is_not_interpretable_is_marked_and_not_the_best() -> None:
    """The last model prefers unrelated words in half of the items, and has SS 50."""
    runs = [*models(70.0, 90.0), ("nonsense", run(chosen_scores("nonsense", 50.0, n=120, sense=False, seed=77)))]
    (table,) = build_wide_tables(runs)
    (row,) = (row for row in table.blocks[0].rows if row.model == "nonsense")
    assert row.get_unreliable_verdict(WideColumn("en", "SS")) == "not interpretable"
    assert not row.best
    text = format_wide_latex([table])
    assert r"$50.0$$^\dagger$" in text
    assert r"$^\dagger$: not interpretable." in text


def test_parts_are_shown_where_not_all_models_have_them_pooled() -> None:
    """As for a masked model without a next-sentence head."""
    half_ = ("half", run(chosen_scores("half", 50.0, n=120, parts=("intrasentence",), seed=9)))
    tables = build_wide_tables([*models(70.0, 50.0), half_], measures=["SS"])
    rows = {table.part: [row.model for block in table.blocks for row in block.rows] for table in tables}
    pooled = ["made/m_0", "made/m_1"]
    assert rows == {"intrasentence": [*pooled, "half"], "intersentence": pooled, "overall": pooled}


def test_parts_are_shown_where_a_pooled_number_is_judged_part_by_part() -> None:
    torn = ("torn", run(chosen_scores("torn", {"intrasentence": 70.0, "intersentence": 30.0}, n=400)))
    tables = build_wide_tables([*models(75.0), torn], measures=["SS"])
    assert [table.part for table in tables] == ["intrasentence", "intersentence", "overall"]
    assert [table.unreliable_verdicts for table in tables] == [[], [], ["contradictory"]]
    assert [table.part for table in build_wide_tables(models(75.0, 70.0), measures=["SS"])] == ["overall"]


def test_a_measure_is_shown_of_the_benchmarks_that_have_it() -> None:
    both = [
        (f"r{at}", run(chosen_scores(f"m{at}", n=40), pair_scores(f"m{at}", seed=at), family=_FAMILIES))
        for at in (0, 1)
    ]
    (table,) = build_wide_tables(both, measures=["SS"])
    assert table.benchmark == "stereoset"
    tables = build_wide_tables(both, measures=["SS", "CPS"])
    assert {(table.benchmark, column.measure) for table in tables for column in table.columns} == {
        ("stereoset", "SS"),
        ("gender-pairs", "CPS"),
    }
    with raises_mentioning(UsageError, "LSM (did you mean LMS?)"):
        build_wide_tables(both, measures=["SS", "LSM"])


def test_rates_of_gest_are_compared_by_their_logarithms_and_tokens_only_with_one_tokenizer() -> None:
    gest = [(m, run(gest_scores(m, seed=s, lean=2.0 * s, n=320), family="gest")) for s, m in enumerate("ab")]
    (table,) = build_wide_tables(gest, measures=["g_s"])
    assert best(table) == {"a": {("en", "g_s")}}
    pairs = [pair_scores(m, seed=s, distance_lean=9.0 * s, n=300) for s, m in enumerate("ab")]
    for tokenizer, has_best in ((None, False), ("same", True)):
        runs = [(str(at), run(table, family="pairs", tokenizer=tokenizer)) for at, table in enumerate(pairs)]
        (table,) = build_wide_tables(runs, measures=["S_JSD"])
        assert bool(best(table)) == has_best


def printed(tables: Sequence[WideTable], width: int, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, record=True)
    print_wide_tables(tables, console)
    file.flush()
    lines = [line.rstrip() for line in console.export_text(styles=False).splitlines()]
    assert all(len(line) <= width for line in lines)
    return lines


@pytest.mark.parametrize(("width", "encoding", "pieces"), [(60, "ascii", 2), (80, "utf-8", 1), (140, "utf-8", 1)])
def test_it_fits_the_terminal(width: int, encoding: str, pieces: int) -> None:
    tables = build_wide_tables(models(70.0, 50.0, 72.0))
    text = "\n".join(printed(tables, width, encoding))
    assert len(re.findall(r"^made/m_1", text, re.MULTILINE)) == pieces
    assert text.count("50.0*") == 2
    assert sum(line.startswith("* ") for line in text.splitlines()) == 1


def test_long_names_are_wrapped_rather_than_cut() -> None:
    names = [f"someone/a-model-with-a-long-name-{number}-of-some-size" for number in (1, 2)]
    runs = [(name, run(association_scores(name, seed=at))) for at, name in enumerate(names)]
    lines = printed(build_wide_tables(runs), 60)
    assert names[1] in "".join(line[:20].rstrip() for line in lines)


def test_latex_groups_columns_and_escapes_names() -> None:
    (table,) = build_wide_tables(models(70.0, 50.0, 72.0))
    lines = format_wide_latex([table]).splitlines()
    assert lines[2].endswith(r"{!}{\begin{tabular}{lrrrrrr}")  # at most as wide as the text
    assert r"\end{tabular}}" in lines
    groups = {"de": "German", "en": "English"}
    heads = " & ".join(rf"\multicolumn{{3}}{{c}}{{{groups[group]}}}" for group, _ in table.groups)
    assert lines[4] == rf" & {heads} \\"
    assert lines[5] == r"\cmidrule(lr){2-4} \cmidrule(lr){5-7}"
    assert lines[6] == r"model & LMS & SS & ICAT & LMS & SS & ICAT \\"
    (row,) = (line for line in lines if line.startswith(r"made/m\_1"))
    assert row.count(r"\textbf{50.0}") == 2
    cells = [line.count("&") for line in lines[6:-4] if line.endswith(r"\\")]
    assert set(cells) == {6}
    assert_mentions(lines[-2], "Bold: ")


def test_show_takes_several_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    folders = [saved(tmp_path / name, result) for name, result in models(70.0, 50.0)]
    assert command(monkeypatch, "show", *folders) == 0
    assert "50.0*" in capsys.readouterr().out
    assert command(monkeypatch, "show", *folders, "--latex", "--columns", "measure", "--measure", "SS") == 0
    assert r" & \multicolumn{2}{c}{SS} \\" in capsys.readouterr().out
    assert command(monkeypatch, "show", *folders, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["run"] for row in rows} == {"run-0", "run-1"}
    assert command(monkeypatch, "show", *folders, "--csv") == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["run"], row["measure"]) for row in table] == [(row["run"], row["measure"]) for row in rows]
    for wrong, parts in (
        ((folders[0],), ["twice"]),
        (("--by", "target"), ["--by"]),
        (("--top", "3"), ["--top"]),
        (("--measure", "LSM"), ["LSM (did you mean LMS?)"]),
        (("--columns", "model"), ["language, measure"]),
        (("--measure", "SS", "--csv"), ["--measure", "--csv"]),
        (("--columns", "measure", "--json"), ["--columns", "--json"]),
    ):
        assert command(monkeypatch, "show", *folders, *wrong) == 2
        assert_mentions(capsys.readouterr().err, *parts)
    assert command(monkeypatch, "show", folders[0], "--measure", "SS") == 2
    assert_mentions(capsys.readouterr().err, "--measure")
    assert command(monkeypatch, "show", folders[0], "--by", "target", "--latex") == 2
    assert_mentions(capsys.readouterr().err, "--by")


def test_runs_without_numbers_are_said_to_be_empty() -> None:
    with raises_mentioning(UsageError, "no numbers", "`tiltmeter run`"):
        build_wide_tables([])
