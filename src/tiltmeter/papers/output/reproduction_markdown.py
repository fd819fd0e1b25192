"""A reproduction as a Markdown page."""

from collections.abc import Iterator, Sequence

from tiltmeter.papers.consistency_checks import check_consistency
from tiltmeter.papers.output.reproduction_tables import (
    VALUE,
    ExplainedNumbers,
    describe_contradiction,
    format_cell_name,
    format_recomputed,
    has_unprinted_numbers,
    list_explained_numbers,
    summarize_tables,
)
from tiltmeter.papers.printed_numbers import TEXT, format_table_title
from tiltmeter.papers.reproduction import ReproducedNumber, Reproduction, ReproductionStatus
from tiltmeter.reports.formatting import format_count
from tiltmeter.reports.grouping import group_by

_MOST_LISTED = 20  # maximum number of listed numbers for each reason; the numbers that differ most are listed
_INTRODUCTION = """\
# Reproduction of printed numbers

This page is the output of `tiltmeter reproduce all --markdown FILE`. A number in a table of a paper is recomputed from
the released predictions or translations, and compared with the printed number to its last digit. If we do not have the
file that a number comes from, the number counts as not available; the available files are listed below. Numbers in
running text, captions and smaller tables are recomputed from the released data, or from the tables that they summarise.

The column *number* has the heads of the row and the column in the printed table, in the words of the paper.
"""
_TOLERANCES = """\
The cause of these differences is known, but the numbers are not explained item by item: no released file shows which
items were counted differently. A difference that is larger than the tolerance counts as a difference without a known
reason.
"""


def to_markdown(reproduction: Reproduction) -> str:
    """Return the page: counts by table, differences with their reasons, consistency checks, and the used files."""
    parts = [_INTRODUCTION, "## Summary\n", *_format_summary(reproduction)]
    unexplained = [outcome for outcome in reproduction.outcomes if outcome.status is ReproductionStatus.DIFFERS]
    if unexplained:
        parts += ["\n## Numbers that differ without a known reason\n", *_format_numbers(unexplained, len(unexplained))]
    groups = list_explained_numbers(reproduction)
    parts.append("\n## Numbers that differ for a known reason\n")
    parts += [line for group in groups if not group.is_tolerance for line in _format_group(group)]
    parts += ["## Numbers that differ within a tolerance\n", _TOLERANCES]
    parts += [line for group in groups if group.is_tolerance for line in _format_group(group)]
    parts.append("## Remarks\n")
    for remark in reproduction.list_remarks():
        parts.append(f"- {remark.paper}, {format_table_title(remark.tables)}: **{remark.text}** {remark.evidence}")
    parts.append("\n## Consistency of the printed numbers\n")
    for check in check_consistency([outcome.printed for outcome in reproduction.outcomes]):
        parts.append(
            f"- {check.name[:1].upper()}{check.name[1:]}: "
            f"true for {check.consistent_count:,} of {check.numbers:,} numbers."
        )
        parts += [f"  - {describe_contradiction(contradiction)}." for contradiction in check.contradictions]
    parts += ["\n## Numbers in running text and captions\n", *_format_text_numbers(reproduction)]
    parts += ["\n## Not recomputed\n", *_format_left_out(reproduction)]
    parts += ["\n## Files\n", *_format_files(reproduction)]
    parts += ["\n## Papers\n", *(f"- {paper.key}: {paper.citation}" for paper in reproduction.list_papers())]
    return "\n".join(parts) + "\n"


def _format_summary(reproduction: Reproduction) -> Iterator[str]:
    summary = summarize_tables(reproduction)
    has_unprinted = has_unprinted_numbers(summary)
    yield (
        "| paper | table | kind | printed numbers | agree | differ for a known reason | differ within a tolerance | "
        f"differ without a known reason | not available |{' recomputed only |' if has_unprinted else ''}"
    )
    yield f"| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |{' ---: |' if has_unprinted else ''}"
    for line in summary:
        shown = [f"{count:,}" for status, count in line.counts.items() if status is not ReproductionStatus.UNPRINTED]
        counts = " | ".join([*shown, *([line.unprinted] if has_unprinted else [])])
        yield f"| {line.paper} | {line.table} | {line.kind} | {line.number_count:,} | {counts} |"


def _format_group(group: ExplainedNumbers) -> Iterator[str]:
    tables = format_table_title(dict.fromkeys(outcome.printed.table for outcome in group.outcomes))
    yield f"### {group.paper}: {group.summary.removesuffix('.')}\n"
    yield f"This reason applies to {_format_counts(group.outcomes)} in {group.paper}, {tables}.\n"
    yield from (f"{text}\n" for text in group.evidence)
    if group.is_tolerance:
        yield f"Largest differences: {_format_largest(group.outcomes)}.\n"
    yield from _format_numbers(group.outcomes, _MOST_LISTED)
    yield ""


def _format_largest(outcomes: Sequence[ReproducedNumber]) -> str:
    """Return the largest difference of each table, with one more decimal than is printed."""
    largest = {
        table: max(of_table, key=_compute_distance)
        for table, of_table in group_by(outcomes, lambda outcome: outcome.printed.table).items()
    }
    return "; ".join(
        f"{format_table_title([table])}: {_compute_distance(outcome):.{max(0, outcome.printed.digits) + 1}f}"
        for table, outcome in largest.items()
    )


def _format_numbers(outcomes: Sequence[ReproducedNumber], limit: int) -> Iterator[str]:
    values = [outcome for outcome in outcomes if outcome.printed.kind == VALUE] or list(outcomes)
    if len(values) > limit:
        values = sorted(values, key=lambda outcome: -_compute_distance(outcome))[:limit]
        yield f"The {limit} numbers with the largest differences:\n"
    yield "| table | number | printed | recomputed |"
    yield "| --- | --- | ---: | ---: |"
    for outcome in values:
        printed = outcome.printed
        yield f"| {printed.table} | {format_cell_name(outcome)} | {printed.text} | {format_recomputed(outcome)} |"


def _format_text_numbers(reproduction: Reproduction) -> Iterator[str]:
    yield "| paper | place | number | printed | recomputed | result and source |"
    yield "| --- | --- | --- | ---: | ---: | --- |"
    for outcome in reproduction.outcomes:
        number = outcome.printed
        if number.table == TEXT:
            place, *rest = number.build_row_head()
            recomputed = format_recomputed(outcome)
            cells = (number.paper.key, place, ", ".join(rest), number.text, recomputed, _format_result(outcome))
            yield f"| {' | '.join(cells)} |"


def _format_result(outcome: ReproducedNumber) -> str:
    if outcome.status is not ReproductionStatus.ABSENT:
        return f"{outcome.status}; {outcome.source}"
    return f"No file here: {outcome.missing_file}" if outcome.missing_file else outcome.note


def _format_left_out(reproduction: Reproduction) -> Iterator[str]:
    for paper in reproduction.list_papers():
        for omitted in paper.left_out:
            yield f"- {paper.key}, {omitted.place}: {omitted.reason}"


def _compute_distance(outcome: ReproducedNumber) -> float:
    return abs((outcome.ours or 0.0) - float(outcome.printed.text))


def _format_counts(outcomes: Sequence[ReproducedNumber]) -> str:
    values = sum(outcome.printed.kind == VALUE for outcome in outcomes)
    ends = len(outcomes) - values
    parts = [format_count(values, "number")] if values else []
    return " and ".join([*parts, *([format_count(ends, "interval end")] if ends else [])])


def _format_files(reproduction: Reproduction) -> Iterator[str]:
    sources = {outcome.source for outcome in reproduction.outcomes if outcome.source}
    absent = {
        outcome.source
        for outcome in reproduction.outcomes
        if outcome.source and outcome.status is ReproductionStatus.ABSENT
    }
    yield f"The numbers come from {len(sources)} sources, of which {len(sources - absent)} were available:\n"
    for name, used in sorted(reproduction.files.items()):
        yield f"- {name}" + ("" if used.known else " (without a known hash; the commit is pinned)")
