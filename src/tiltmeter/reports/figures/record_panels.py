"""Shared by figures of records: which records are drawn, their panels, and a note on models that are not comparable."""

from collections.abc import Sequence

from tiltmeter.measures import deciding, measure_named
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.figures.figure import Panel
from tiltmeter.reports.figures.forest import forest
from tiltmeter.reports.figures.series import Domain, asked_way
from tiltmeter.reports.languages import language_name
from tiltmeter.reports.record_rows import any_record, contradictory, pooled, rows_of, split


def note_incomparable(records: Sequence[Record]) -> str:
    """A sentence for figures that show models whose numbers are not comparable; empty if there are none."""
    parts: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for r in records:
        parts.setdefault((r.part, r.language), set()).add(asked_way(r))
    if all(len(ways) == 1 for ways in parts.values()):
        return ""
    return " Models of different kinds or protocols are shown together: their numbers are not comparable."


def select_primary_records(records: Sequence[Record], view: str) -> list[Record]:
    """The records that give the verdicts of a view: of pooled parts if there are any that are not contradictory."""
    decisive = [record for row in rows_of(records, view) if (record := deciding(row)) is not None]
    unpooled = {(any_record(row).model, any_record(row).language) for row in rows_of(records) if contradictory(row)}
    whole = {(r.model, r.language) for r in decisive if r.part == OVERALL} - unpooled
    decisive = [r for r in decisive if (r.part == OVERALL) == ((r.model, r.language) in whole)]
    return [r for r in decisive if r.measure == decisive[0].measure]


def build_forest_panels(records: Sequence[Record], models: Domain) -> tuple[Panel, ...]:
    """A panel for each language and part, on one scale."""
    ends = [end for r in records for end in (r.value, r.low, r.high) if end is not None]
    scale = measure_named(records[0].measure).span(ends)
    panels = []
    for (language, part), group in split(records, "language", "part"):
        title = language_name(language) + ("" if pooled(part) else f", {part}")
        panels.append(Panel(title, forest(group, models, scale)))
    return tuple(panels)
