"""The output of `compare --group` and `compare --size`."""

import io
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from tests.comparing.test_groups import half, models
from tests.comparing.test_sizes import attributes
from tests.comparing.test_sizes import models as sized
from tests.runs.made import chosen_scores, run, saved
from tests.support.command import command
from tests.support.messages import assert_mentions
from tiltmeter.comparing.group_difference import GroupComparison
from tiltmeter.comparing.grouped_comparison import compare_groups
from tiltmeter.comparing.size_comparison import compare_sizes
from tiltmeter.comparing.size_slopes import SizeComparison
from tiltmeter.reports.contrast_page import build_size_figures, render_group_page, render_size_page
from tiltmeter.reports.group_comparison import print_groups
from tiltmeter.reports.size_trends import print_sizes

WIDTHS = [(60, "ascii"), (80, "utf-8"), (140, "utf-8")]


@cache
def grouped(count: int) -> GroupComparison:
    return compare_groups(models(11)[:count], "instruct", half(count), measures=["SS"])


@cache
def by_size() -> SizeComparison:
    return compare_sizes(sized(), attributes(), measures=["SS"])


def printed(comparison: GroupComparison | SizeComparison, width: int, encoding: str) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, record=True)
    if isinstance(comparison, GroupComparison):
        print_groups(comparison, console)
    else:
        print_sizes(comparison, console)
    file.flush()
    lines = [line.rstrip() for line in console.export_text(styles=False).splitlines()]
    assert all(len(line) <= width for line in lines)
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize(("width", "encoding"), WIDTHS)
def test_groups_fit_the_terminal(width: int, encoding: str) -> None:
    text = printed(grouped(11), width, encoding)
    assert text.startswith(f"instruct=false {'-' if encoding == 'ascii' else '−'} instruct=true, stereoset:en")
    assert_mentions(text, "overall: instruct=true is", "significantly farther from 50", "than instruct=false")
    assert_mentions(text, "these 6 and 5 models", "For models like these:", "instruct=true: m1 (")


def test_few_members_do_not_generalise_and_it_says_so() -> None:
    text = printed(grouped(5), 100, "utf-8")
    assert_mentions(text, "these 3 and 2 models", "does not generalise", "5 in each group")
    assert "over members Holm" not in text
    assert ">over members<" not in render_group_page(grouped(5))
    assert ">over members<" in render_group_page(grouped(11))


def test_where_parts_contradict_only_the_parts_are_said_to_hold_for_models_like_these() -> None:
    """No model contradicts itself significantly, but the two groups differ in opposite directions."""
    runs = [
        (f"r{at}", run(chosen_scores(f"m{at}", {"intrasentence": a, "intersentence": 100 - a}, n=40, seed=at)))
        for at in range(10)
        for a in (65.0 if at % 2 else 35.0,)
    ]
    text = printed(compare_groups(runs, "instruct", half(10), measures=["SS"]), 100, "utf-8")
    assert_mentions(text, "overall: contradictory")
    parts, _, pooled = text.partition("overall: contradictory")
    assert parts.count("models like these:") == 2
    assert "models like these:" not in pooled


@pytest.mark.parametrize(("width", "encoding"), WIDTHS)
def test_slopes_fit_the_terminal(width: int, encoding: str) -> None:
    text = printed(by_size(), width, encoding)
    assert text.startswith("SS by size, stereoset:en, intrasentence family")
    assert_mentions(text, "SS rises significantly", "7 models of a, b: +", "per tenfold size")
    assert_mentions(text, "For models like these: [")


def test_pages_have_tables_and_figures_and_no_scripts() -> None:
    groups, sizes = render_group_page(grouped(11)), render_size_page(by_size())
    for page in (groups, sizes):
        assert page.startswith("<!doctype html>")
        assert "default-src &#39;none&#39;" in page
        assert "<script" not in page
    assert groups.count("<tr") == 4  # a heading and three parts
    assert sizes.count("<figure><svg") == 3
    assert "10B" in sizes
    slugs = [f"{benchmark}-{figure.slug}" for benchmark, figure in build_size_figures(by_size())]
    assert slugs == [f"stereoset-{part}-en-ss-by-size" for part in ("intrasentence", "intersentence", "overall")]


def test_what_is_bold_for_members_like_these_is_so_for_them() -> None:
    """All rows are significant for these members; for members like these, only if the corrected p is below 5%."""
    comparison = grouped(11)
    over = comparison.differences[0].over_members
    assert over is not None
    for p_holm, bold in ((0.2, False), (0.01, True)):
        differences = [
            replace(d, p_holm=0.001, over_members=replace(over, p_holm=p_holm)) for d in comparison.differences
        ]
        changed = replace(comparison, differences=differences)
        assert render_group_page(changed).count(' significant">') == 3 * (8 + 2 * bold)
        file = io.StringIO()
        print_groups(changed, Console(file=file, width=140, force_terminal=True, color_system="standard"))
        (row,) = (
            line for line in file.getvalue().splitlines() if "overall " in line and "\x1b[1m" in line and "60" in line
        )
        assert ("\x1b[1m0.200" in row, "\x1b[1m0.010" in row) == (False, bold)


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    folders = [saved(tmp_path / name, result) for name, result in sized()[:2]]
    described = tmp_path / "models.toml"
    described.write_text(
        "".join(
            f'[[models]]\nname = "{name}"\nattributes = {{ family = "a", big = {big}, size = "{size}" }}\n'
            for (name, _), big, size in zip(sized()[:2], ("false", "true"), ("10m", "100m"), strict=True)
        )
    )
    options = ("--attributes", str(described), "--measure", "SS")
    page = tmp_path / "page.html"
    assert command(monkeypatch, "compare", *folders, "--group", "big", *options, "--html", str(page)) == 0
    assert "big=false − big=true" in capsys.readouterr().out
    assert "big=true" in page.read_text(encoding="utf-8")
    assert command(monkeypatch, "compare", *folders, "--group", "big", *options, "--json") == 0
    (first, *_) = json.loads(capsys.readouterr().out)["differences"]
    assert (first["left"]["group"], list(first["left"]["models"])) == ("big=false", ["a-1e+07"])
    assert first["over_members"] is None
    figures = tmp_path / "figures"
    assert command(monkeypatch, "compare", *folders, "--size", *options, "--figures", str(figures), "--json") == 0
    out = capsys.readouterr()
    assert [slope["family"] for slope in json.loads(out.out)["slopes"]] == ["a"] * 3
    assert len(list(figures.iterdir())) == 9
    for wrong, parts in (
        (("--figures", str(figures)), ["--figures", "--size"]),
        (("--size", "--group", "big"), ["--size", "--group"]),
        (("--group", "big", "--baseline", "a-1e+07"), ["--group", "--baseline"]),
        (("--group", "bigg", *options), ["did you mean big?"]),
        (("--group", "big", *options, "--all"), ["--all"]),
        (("--size", *options, "--items", "3"), ["--items"]),
    ):
        assert command(monkeypatch, "compare", *folders, *wrong) == 2
        assert_mentions(capsys.readouterr().err, *parts)
