"""The answer at the top of a report: a heading that counts the results with a bias, and a row for each result."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.measures.verdict import VerdictDirection, VerdictKind
from tiltmeter.reports.benchmark_sections import BenchmarkSection
from tiltmeter.reports.formatting import join_words
from tiltmeter.reports.record_rows import is_pooled
from tiltmeter.reports.summary_rows import SummaryRow

# The maximum number of rows, so that the rows and the first benchmark fit on one screen.
MOST_ROWS = 12
# Phrases for results without a significant bias; each follows a number.
_PHRASES: dict[VerdictKind, tuple[str, str]] = {
    "no bias": ("shows no bias beyond the margin", "show no bias beyond the margin"),
    "contradictory": ("is contradictory", "are contradictory"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "too few": ("has too few items", "have too few items"),
    "not interpretable": ("is not interpretable", "are not interpretable"),
}


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A result in the rows at the top of a report; `slug` is the id of the section of its benchmark."""

    benchmark: str
    slug: str
    measure: str
    line: SummaryRow

    @property
    def part(self) -> str:
        """The part of the benchmark; empty if the result is over all parts."""
        part = self.line.verdict.record.part
        return "" if is_pooled(part) else part


@dataclass(frozen=True, slots=True)
class ReportAnswer:
    """The heading of a report and the sentence below it, and rows with the results.

    `is_lead` tells whether the heading is the first sentence of the only benchmark. `more_rows` is the number of
    results without a row.
    """

    heading: str
    details: str
    rows: list[AnswerRow]
    more_rows: int
    is_lead: bool


def build_answer(sections: Sequence[BenchmarkSection]) -> ReportAnswer:
    """Return the answer of a report from the sections of its benchmarks."""
    rows = [
        AnswerRow(section.name, section.slug, section.measure, line)
        for section in sections
        for line in section.lines
        if not line.is_part
    ]
    headlines = [section.headline for section in sections if section.headline is not None]
    listed = rows if len(rows) <= MOST_ROWS else rows[: MOST_ROWS - 1]
    if len(headlines) == 1:
        return ReportAnswer(headlines[0].lead, "", listed, len(rows) - len(listed), True)
    heading, details = _count_verdicts(rows)
    return ReportAnswer(heading, details, listed, len(rows) - len(listed), False)


def _count_verdicts(rows: Sequence[AnswerRow]) -> tuple[str, str]:
    """Return a heading on the results with a significant bias, and a sentence on the others."""
    if not rows:
        return "No result says whether there is a bias", ""
    verdicts = [row.line.verdict.verdict for row in rows]
    sides = Counter(verdict.side for verdict in verdicts if verdict.kind == "significant")
    kinds = Counter(verdict.kind for verdict in verdicts)
    others = [f"{kinds[kind]} {phrases[kinds[kind] > 1]}" for kind, phrases in _PHRASES.items() if kinds[kind]]
    return _describe_sides(sides, len(rows)), f"{join_words(others)}." if others else ""


def _describe_sides(sides: Counter[VerdictDirection], total: int) -> str:
    significant = sides.total()
    if not significant:
        return f"None of the {total} results shows a significant bias"
    count = f"{significant} of {total}" if significant < total else f"All {total}"
    verb = "shows" if significant == 1 < total else "show"
    # Measures that compare groups have no side.
    if set(sides) == {"none"}:
        return f"{count} results {verb} a significant difference between groups"
    if len(sides) == 1:
        return f"{count} results {verb} a significant bias {next(iter(sides))} stereotypes"
    ways = [f"{number} {side} stereotypes" for side, number in sorted(sides.items(), reverse=True) if side != "none"]
    ways += [f"{sides['none']} between groups"] if sides["none"] else []
    noun = "bias or difference" if sides["none"] else "bias"
    return f"{count} results {verb} a significant {noun}: {join_words(ways)}"
