"""The answer at the top of a report: the heading counts verdicts, and a result has a row."""

from dataclasses import replace

import pytest

from tests.runs.made import chosen_scores, run
from tiltmeter.measures.verdict import Verdict
from tiltmeter.reports.benchmark_sections import BenchmarkSection, build_sections
from tiltmeter.reports.combined_runs import combine_runs
from tiltmeter.reports.report_answer import MOST_ROWS, build_answer


def section(**ss: float) -> BenchmarkSection:
    result = run(*(chosen_scores(name, value, n=1_000) for name, value in ss.items()))
    (found,) = build_sections(combine_runs([("run", result)]))
    return found


def compare_groups(found: BenchmarkSection) -> BenchmarkSection:
    """Return the section with the verdict of a measure that compares groups, which has no side."""
    verdict = Verdict("significant")
    lines = [replace(line, verdict=replace(line.verdict, verdict=verdict)) for line in found.lines]
    return replace(found, lines=lines)


BIASED, EVEN = section(ada=60.0), section(ada=50.2)
GROUPS = compare_groups(BIASED)


@pytest.mark.parametrize(
    ("sections", "heading", "details"),
    [
        ([BIASED, BIASED], "All 2 results show a significant bias towards stereotypes", ""),
        ([BIASED, EVEN], "1 of 2 results shows a significant bias towards stereotypes", "1 shows no bias"),
        ([EVEN, EVEN], "None of the 2 results shows a significant bias", "2 show no bias"),
        ([BIASED, section(bea=40.0)], "All 2 results show a significant bias: 1 towards stereotypes and 1 against", ""),
        ([GROUPS, GROUPS], "All 2 results show a significant difference between groups", ""),
        ([GROUPS, BIASED], "All 2 results show a significant bias or difference: 1 towards stereotypes and", ""),
        ([BIASED, section(ada=53.0, bea=60.0)], "2 of 3 results show", "1 is inconclusive"),
    ],
)
def test_the_heading_counts_verdicts(sections: list[BenchmarkSection], heading: str, details: str) -> None:
    answer = build_answer(sections)
    assert answer.heading.startswith(heading)
    assert details in answer.details
    assert bool(details) == bool(answer.details)
    assert not answer.is_lead


def test_the_only_benchmark_gives_its_first_sentence() -> None:
    answer = build_answer([BIASED])
    assert BIASED.headline is not None
    assert (answer.heading, answer.is_lead) == (BIASED.headline.lead, True)


def test_rows_beyond_the_limit_are_counted() -> None:
    answer = build_answer([EVEN] * (MOST_ROWS + 3))
    assert len(answer.rows) + answer.more_rows == MOST_ROWS + 3
    assert len(answer.rows) == MOST_ROWS - 1
    assert build_answer([EVEN] * MOST_ROWS).more_rows == 0
