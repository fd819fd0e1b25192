"""Formatting shared by all outputs."""

from tests.reports.made import record
from tiltmeter.papers.output import reproduction_latex
from tiltmeter.reports import record_tables
from tiltmeter.reports.formatting import (
    escape_latex,
    escape_markdown,
    format_four_digits,
    format_interval,
    format_with_interval,
)


def test_intervals_are_those_of_the_measure_or_have_four_digits() -> None:
    ss = record("SS", 57.04, 1.5)
    assert format_interval(ss) == "[55.5, 58.5]"
    assert format_interval(ss, "{} to {}", format_four_digits) == "55.54 to 58.54"
    assert format_with_interval(ss) == "57.0 [55.5, 58.5]"
    assert format_with_interval(record("SS", 57.04)) == "57.0"


def test_special_characters_of_latex_and_markdown() -> None:
    assert escape_latex("a_b^c~d<e>") == r"a\_b\textasciicircum{}c\textasciitilde{}d\textless{}e\textgreater{}"
    assert escape_markdown("a|b\n[c](d) <e>") == r"a\|b \[c\](d) &lt;e&gt;"
    # Tables of runs and of reproductions escape text by the same function.
    assert record_tables.escape_latex is reproduction_latex.escape_latex is escape_latex
