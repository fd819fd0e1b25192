"""A reproduction as a Markdown page."""

from collections.abc import Iterator, Sequence

from tiltmeter.papers.crosschecks import cross_check
from tiltmeter.papers.output.layout import (
    VALUE,
    by_reason,
    evidence,
    ours,
    place,
    reason_of,
    so_many,
    summary,
)
from tiltmeter.papers.reproduction import Outcome, Reproduction, Status

_LISTED = 20  # of more numbers that differ for one reason, only the farthest are listed
_INTRODUCTION = """\
# Which printed numbers hold

This page is the output of `tiltmeter reproduce`; `tiltmeter reproduce all --markdown FILE` writes it anew. Every
number of the papers' tables is recomputed from the predictions and translations that were released with them, and
compared with what is printed, to the printed digit. A number whose material was not at hand counts as not available,
never as agreeing. So this page says what was found with the files that were there when it was written.
"""


def to_markdown(found: Reproduction) -> str:
    """The page: what holds, what does not and why, what was found by comparing printed numbers, and the files used."""
    parts = [_INTRODUCTION, "## Summary\n", *_summary(found)]
    wrong = [outcome for outcome in found.outcomes if outcome.status is Status.DIFFERS]
    if wrong:
        parts += ["\n## Numbers that differ without a known reason\n", *_numbers(wrong, len(wrong))]
    parts.append("\n## Numbers that differ for a known reason\n")
    for (paper, _), outcomes in by_reason(found).items():
        tables = ", ".join(dict.fromkeys(outcome.printed.table for outcome in outcomes))
        parts.append(f"### {reason_of(outcomes).summary}\n")
        parts.append(f"{paper}, Table {tables}: {_so_many(outcomes)}.\n")
        parts += [f"{text}\n" for text in evidence(outcomes)]
        parts += [*_numbers(outcomes, _LISTED), ""]
    parts.append("## What else is to be known\n")
    for remark in found.remarks():
        parts.append(f"- {remark.paper}, Table {', '.join(remark.tables)}: **{remark.text}** {remark.evidence}")
    parts.append("\n## Printed numbers against each other\n")
    for check in cross_check([outcome.printed for outcome in found.outcomes]):
        held = check.numbers - len(check.contradictions)
        parts.append(f"- {_capital(check.name)}: so it is for {held:,} of {check.numbers:,} numbers.")
        for one in check.contradictions:
            where = ", ".join((*one.number.row(), *one.number.column()))
            parts.append(
                f"  - {one.number.paper.key}, Table {one.number.table}, {where}: {one.number.text}, but {one.other}."
            )
    parts += ["\n## Files\n", *_files(found)]
    parts += ["\n## Papers\n", *(f"- {paper.key}: {paper.citation}" for paper in found.papers())]
    return "\n".join(parts) + "\n"


def _summary(found: Reproduction) -> Iterator[str]:
    yield "| paper | table | | all | agree | known reason | differ | not available |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for line in summary(found):
        counts = " | ".join(f"{number:,}" for number in line.counts.values())
        yield f"| {line.paper} | {line.table} | {line.kind} | {line.numbers:,} | {counts} |"


def _numbers(outcomes: Sequence[Outcome], limit: int) -> Iterator[str]:
    values = [outcome for outcome in outcomes if outcome.printed.kind == VALUE] or list(outcomes)
    if len(values) > limit:
        values = sorted(values, key=lambda outcome: -_distance(outcome))[:limit]
        yield f"The {limit} of them that lie farthest apart:\n"
    yield "| table | number | printed | ours |"
    yield "| --- | --- | ---: | ---: |"
    for outcome in values:
        yield f"| {outcome.printed.table} | {place(outcome)} | {outcome.printed.text} | {ours(outcome)} |"


def _distance(outcome: Outcome) -> float:
    return abs((outcome.ours or 0.0) - float(outcome.printed.text))


def _so_many(outcomes: Sequence[Outcome]) -> str:
    values = sum(outcome.printed.kind == VALUE for outcome in outcomes)
    ends = len(outcomes) - values
    parts = [so_many(values)] if values else []
    return " and ".join([*parts, *([so_many(ends, "interval end")] if ends else [])])


def _files(found: Reproduction) -> Iterator[str]:
    sources = {outcome.source for outcome in found.outcomes if outcome.source}
    absent = {outcome.source for outcome in found.outcomes if outcome.source and outcome.status is Status.ABSENT}
    yield f"Numbers come from {len(sources)} sources, of which {len(sources - absent)} were there:\n"
    for name, checked in sorted(found.files.items()):
        yield f"- {name}" + ("" if checked else " (its hash is not known; its commit is pinned)")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
