"""The rows of a benchmark's summary table: a value with its interval, verdict and ruler."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.measures import get_measure
from tiltmeter.measures.pooled_rows import get_pooling_key
from tiltmeter.measures.records import OVERALL
from tiltmeter.reports.formatting import format_interval, format_reported_p
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import is_pooled
from tiltmeter.reports.ruler_svg import Ruler, build_ruler
from tiltmeter.reports.verdict_text import RowVerdict


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A row of the summary table; numbers are formatted as text. `companions` are the values of other measures."""

    verdict: RowVerdict
    language: str
    part: str
    value: str
    interval: str
    p_value: str
    ruler: Ruler
    companions: list[str]
    is_part: bool = False  # whether the row is about one part, below the row over all parts


def build_summary_rows(summary: Sequence[RowVerdict], companions: Sequence[str] = ()) -> list[SummaryRow]:
    """Return a row for each verdict, with the values of the measures `companions`.

    The rulers of all rows with the same measure have the same scale.
    """
    scales = {
        name: get_measure(name).span(
            end
            for v in summary
            if v.record.measure == name
            for end in (v.record.value, v.record.low, v.record.high)
            if end is not None
        )
        for name in dict.fromkeys(v.record.measure for v in summary)
    }
    divided = {get_pooling_key(v.record) for v in summary if v.record.part != OVERALL}
    lines = []
    for v in summary:
        r, number = v.record, get_measure(v.record.measure).number
        part = "" if is_pooled(r.part) else r.part
        lines.append(
            SummaryRow(
                verdict=v,
                language=get_language_name(r.language),
                part="all parts" if r.part == OVERALL and get_pooling_key(r) in divided else part,
                value=number(r.value),
                interval=format_interval(r, "{} – {}"),
                p_value=format_reported_p(r),
                ruler=build_ruler(r, scales[r.measure], v.verdict.side),
                companions=[_format_companion(v, name) if name in v.row else "" for name in companions],
            )
        )
    return lines


def _format_companion(v: RowVerdict, name: str) -> str:
    """Return the value of another measure of the row; a value about bias from contradictory parts is marked."""
    measure = get_measure(name)
    text = measure.number(v.row[name].value)
    # ICAT can be 100 if one part prefers the stereotype and the other part opposes it.
    return f"{text} (contradictory)" if measure.is_about_bias and v.verdict.kind == "contradictory" else text
