"""Functions for figures of records: selection of records, panels, and a note about incomparable models."""

from collections.abc import Sequence

from tiltmeter.measures import get_measure, select_deciding_record
from tiltmeter.measures.pooled_rows import find_rows_judged_by_part
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.figures.chart_elements import Domain, get_comparison_key
from tiltmeter.reports.figures.figure import Panel
from tiltmeter.reports.figures.forest import draw_forest
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import build_rows, group_records, is_pooled


def describe_incomparable_models(records: Sequence[Record]) -> str:
    """Return a note for the caption if the figure shows models with incomparable numbers; otherwise an empty text."""
    parts: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for r in records:
        parts.setdefault((r.part, r.language), set()).add(get_comparison_key(r))
    if all(len(ways) == 1 for ways in parts.values()):
        return ""
    return " Models of different kinds or protocols are shown together: their numbers are not comparable."


def select_primary_records(records: Sequence[Record], view: str) -> list[Record]:
    """Return the records that decide the verdicts of a view, such as "all" items or items by "bias_type".

    For each model and language, these are the records over all parts of the benchmark. The records of the single parts
    are returned instead if there are no records over all parts, or if each part is judged separately.
    """
    decisive = [record for row in build_rows(records, view) if (record := select_deciding_record(row)) is not None]
    unpooled = {
        (model, language) for model, _, language, _, in_view, _ in find_rows_judged_by_part(records) if in_view == "all"
    }
    whole = {(r.model, r.language) for r in decisive if r.part == OVERALL} - unpooled
    decisive = [r for r in decisive if (r.part == OVERALL) == ((r.model, r.language) in whole)]
    return [r for r in decisive if r.measure == decisive[0].measure]


def build_forest_panels(records: Sequence[Record], models: Domain) -> tuple[Panel, ...]:
    """Return a forest plot for each language and part; all panels have the same scale."""
    ends = [end for r in records for end in (r.value, r.low, r.high) if end is not None]
    scale = get_measure(records[0].measure).span(ends)
    panels = []
    for (language, part), group in group_records(records, "language", "part"):
        title = get_language_name(language) + ("" if is_pooled(part) else f", {part}")
        panels.append(Panel(title, draw_forest(group, models, scale)))
    return tuple(panels)
