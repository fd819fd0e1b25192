"""A model among reference models: sentences, table, figure, and the first screen of a report."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.runs.made import chosen_scores, run
from tests.support.messages import assert_mentions
from tiltmeter.comparing.reference_comparison import compare_with_references
from tiltmeter.comparing.reference_files import strip_texts, write_reference_file
from tiltmeter.comparing.reference_position import Position, ReferenceComparison
from tiltmeter.comparing.reference_sets import References, get_published_file, load_references
from tiltmeter.reports.reference_page import build_reference_figures, format_reference_latex, render_reference_page
from tiltmeter.reports.reference_printout import print_references
from tiltmeter.reports.reference_strips import WIDTH, build_reference_headlines, build_reference_strip
from tiltmeter.reports.reference_texts import build_position_table, describe_position, list_details
from tiltmeter.reports.report_page import make_report
from tiltmeter.runs.released_results import load_published_sets
from tiltmeter.runs.result import Result

PART = ["intrasentence"]


def model(name: str, ss: float, seed: int, **given: Any) -> Result:
    return run(chosen_scores(name, ss, n=2000, seed=seed, parts=PART), **given)


@pytest.fixture(scope="module")
def comparison() -> ReferenceComparison:
    values = {"even": 50, "near": 58, "nearer": 59, "far": 75, "against": 30, "mine": 61}
    references = [(f"set/{name}", strip_texts(model(name, ss, at + 2))) for at, (name, ss) in enumerate(values.items())]
    references.append(("set/gpt", strip_texts(model("gpt", 55, 20, kind="causal"))))
    return compare_with_references([("mine", model("mine", 60, 1))], References(references, ["A note."]), "set")


@pytest.fixture(scope="module")
def position(comparison: ReferenceComparison) -> Position:
    return comparison.positions[0]


def test_the_answer_is_one_sentence_with_counts_rank_and_percentile(position: Position) -> None:
    assert_mentions(
        describe_position(position),
        "SS 60.0 [",
        "more biased than 3 of 5",
        "significant for 1 of them",
        "Rank 4 of 6",
        "interval 2 to 4",
        "percentile 60 [20, 60]",
    )


def test_the_same_model_and_models_that_are_left_out_are_said(position: Position) -> None:
    same, left_out = list_details(position)
    assert_mentions(same, "set/mine", "SS 61.0", "2,000 items")
    assert_mentions(left_out, "1 reference model", "--across kinds", "gpt")


def test_the_table_is_sorted_and_marks_the_model(position: Position) -> None:
    table = build_position_table(position)
    assert [row[0] for row in table.rows] == ["far", "mine", "nearer", "near", "even", "against"]
    assert table.bold == {1}
    assert [row[6] for row in table.rows] == ["less biased", "", *["not separable"] * 2, "more biased", "less biased"]


def test_the_terminal_begins_with_the_answer(comparison: ReferenceComparison) -> None:
    console = Console(file=io.StringIO(), width=120)
    print_references(comparison, console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert_mentions(lines[0], "stereoset/intrasentence:en", "more biased than 3 of 5")
    assert "A note." in lines


def test_page_latex_and_figure(comparison: ReferenceComparison) -> None:
    page = render_reference_page(comparison)
    assert page.index("more biased than 3 of 5") < page.index("<figure>") < page.index("less biased</td>")
    assert page.count("<figure>") == 1
    assert_mentions(format_reference_latex(comparison), r"\textbf{mine}", "percentile 60", "not separable")
    ((benchmark, figure),) = build_reference_figures(comparison)
    assert (benchmark, figure.slug) == ("stereoset", "mine-intrasentence-en-ss-among-references")


def test_the_strip_has_a_mark_for_each_model_in_order(position: Position) -> None:
    strip = build_reference_strip(position)
    across = {name.partition(":")[0]: at for at, name in strip.marks}
    assert sorted(across, key=across.__getitem__) == ["against", "even", "near", "nearer", "far"]
    assert across["nearer"] < strip.value < across["far"]
    assert strip.ideal == WIDTH / 2
    assert strip.side == "towards"
    assert 0 <= min(across.values()) <= max(across.values()) <= WIDTH


def test_a_report_says_how_to_get_published_results() -> None:
    headlines = build_reference_headlines([("mine", model("mine", 60, 1))], {"stereoset": "stereoset"})
    assert headlines["stereoset"].strips == ()
    assert_mentions(headlines["stereoset"].note, "tiltmeter reference fetch stereoset-languages stereoset-original")
    own = run(chosen_scores("mine", 60, benchmark="own"))
    assert build_reference_headlines([("mine", own)], {}) == {}


def test_a_report_shows_the_position_if_published_results_are_in_the_cache() -> None:
    published = load_published_sets()["stereoset-original"]
    for at, result in enumerate(published.results[:5]):
        values = model(result.model, 50 + 3 * at, at + 2)
        write_reference_file(get_published_file(published, result), [(result.name, values)])
    page, _ = make_report([("mine", model("mine", 60, 1))])
    assert_mentions(page, "of 5 comparable models", "tiltmeter compare RUN --with published")
    assert page.count('class="reference"') == 5
    assert page.index('class="reference"') < page.index('id="unscripted"')  # on the first screen


def test_a_damaged_file_in_the_cache_does_not_prevent_a_report() -> None:
    published = load_published_sets()["stereoset-original"]
    path: Path = get_published_file(published, published.results[0])
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1")
    page, _ = make_report([("mine", model("mine", 60, 1))])
    assert_mentions(page, "<code>tiltmeter reference fetch stereoset-languages stereoset-original</code>")
    good = get_published_file(published, published.results[1])
    write_reference_file(good, [("good", model("good", 55, 2))])
    found = load_references("published", {("stereoset", "en")})
    assert [name for name, _ in found.runs] == ["stereoset-original/good"]
    assert_mentions("\n".join(found.notes), path.name, "1 of 11", "tiltmeter reference fetch stereoset-original")
