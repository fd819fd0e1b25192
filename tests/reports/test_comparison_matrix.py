"""The summary at the beginning of comparisons of many models."""

import io
import re
from functools import cache

import pytest
from rich.console import Console

from tests.runs.made import association_scores, chosen_scores, run
from tests.support.messages import assert_mentions
from tiltmeter.comparing.comparison import compare
from tiltmeter.comparing.paired_difference import Comparison
from tiltmeter.reports.comparison import print_comparison
from tiltmeter.reports.comparison_matrix import build_matrices, is_large
from tiltmeter.reports.comparison_page import render_comparison_page
from tiltmeter.runs.result import Result

LEANS = (0.0, 0.3, 1.5, 0.8, -0.8, 0.1)


@cache
def models() -> list[tuple[str, Result]]:
    return [
        (str(at), run(association_scores(f"made/m{at}", seed=at, lean=lean, n=40))) for at, lean in enumerate(LEANS)
    ]


@cache
def six(baseline: str | None = None, count: int = 6) -> Comparison:
    return compare(models()[:count], baseline=baseline, measures=["SS", "LMS"])


def printed(comparison: Comparison, width: int, encoding: str = "utf-8", *, everything: bool = False) -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, record=True)
    print_comparison(comparison, console, everything=everything)
    file.flush()
    lines = [line.rstrip() for line in console.export_text(styles=False).splitlines()]
    assert all(len(line) <= width for line in lines)
    return lines


def test_signs_are_those_of_the_verdicts() -> None:
    comparison = six()
    found = {matrix.measure.name: matrix for matrix in build_matrices(comparison)}
    assert set(found) == {"SS", "LMS"}
    for d in comparison.differences:
        if d.part != "overall":
            continue
        matrix = found[d.quantity.name]
        row, column = matrix.labels.index(d.left.label), matrix.labels.index(d.right.label)
        sign = matrix.signs[row, column]
        assert (sign in "+-/") == (d.verdict == "significant")
        assert (sign == "+") == (d.verdict == "significant" and d.contrast.farther_low > 0)
        assert (sign == "-") == (d.verdict == "significant" and d.contrast.farther_high < 0)
        assert matrix.signs[column, row] == {"+": "-", "-": "+"}.get(sign, sign)
    ss = found["SS"]
    distances = [abs(value - 50) for value in ss.values]
    assert distances == sorted(distances, reverse=True)
    places = [ss.labels.index(f"made/m{at}") for at in (3, 4)]
    assert ss.signs[places[0], places[1]] == "/"  # SS about as far above 50 as below it
    apart = sum(d.verdict == "significant" for d in comparison.differences if d.part == "overall")
    assert sum(int(matrix.pair_counts.split(" of ")[0]) for matrix in found.values()) == apart


@pytest.mark.parametrize(("width", "encoding"), [(60, "utf-8"), (80, "ascii"), (140, "utf-8")])
def test_many_models_begin_with_the_summary(width: int, encoding: str) -> None:
    lines = printed(six(), width, encoding)
    text = " ".join(" ".join(lines).split())
    assert lines[0].startswith(("LMS, stereoset:en: ", "SS, stereoset:en: "))
    assert_mentions(text, "15 pairs compared", "--all", "--json")
    assert "made/m0 " + ("-" if encoding == "ascii" else "−") not in text
    rows = [line for line in lines if re.match(r"\s*\d\s+made/m", line)]
    assert len(rows) >= 12


def test_sides_without_an_order_are_last_and_parts_have_matrices() -> None:
    torn = run(chosen_scores("torn", {"intrasentence": 62.0, "intersentence": 38.0}, n=40 * 10))
    others = [(str(at), run(chosen_scores(f"m{at}", 50.0 + 2 * at, n=400, seed=at))) for at in range(4)]
    matrices = build_matrices(compare([("torn", torn), *others], measures=["SS", "LMS"]))
    assert [(m.measure.name, m.part) for m in matrices if m.measure.name == "LMS"] == [("LMS", "overall")]
    found = {m.part: m for m in matrices if m.measure.name == "SS"}
    assert set(found) == {"overall", "intrasentence", "intersentence"}
    pooled = found["overall"]
    assert pooled.labels == ("m3", "m2", "m1", "m0", "torn")  # torn is at 50, as m0
    assert {pooled.signs[row, 4] for row in range(4)} == {"!"}
    assert found["intrasentence"].labels[0] == "torn"


def test_all_prints_the_pairs_after_the_summary() -> None:
    lines = printed(six(), 100, everything=True)
    assert sum(line.startswith("made/m") and line.endswith("stereoset:en") for line in lines) == 15
    assert lines[0].endswith("significantly different")


def test_few_models_have_no_summary() -> None:
    assert not is_large(six(count=4))
    assert is_large(six(count=5))
    assert printed(six(count=4), 100)[0].startswith("made/m0 − made/m1")


def test_against_a_baseline_it_is_a_list() -> None:
    comparison = six("made/m0")
    lines = printed(comparison, 60, "ascii")
    assert sum(line.startswith("minus made/m0") for line in lines) == 2
    assert sum(line.startswith("made/m2 ") for line in lines) == 2
    (matrix, _) = build_matrices(comparison)
    assert matrix.against == "made/m0"
    assert len(matrix.differences) == 5


def test_the_page_begins_with_the_summary_and_has_the_items_on_demand() -> None:
    page = render_comparison_page(six())
    assert page.index('id="summary"') < page.index('id="pair-1"')
    assert page.count("<details><summary>Table of differences") == 15
    assert "which the two sides disagree" not in page
    assert "<code>--all</code>" in page
    whole = render_comparison_page(six(), items=1, everything=True)
    assert "which the two sides disagree" in whole
    assert 'id="summary"' not in render_comparison_page(six(count=4), items=1)
