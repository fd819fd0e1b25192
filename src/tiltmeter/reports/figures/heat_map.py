"""The heat map: the value of each model in each language."""

from collections.abc import Iterator, Sequence

import altair as alt

from tiltmeter.measures import get_measure, select_deciding_record
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict import UNRELIABLE_KINDS
from tiltmeter.reports.figure_style import AGAINST, EVEN, TOWARDS
from tiltmeter.reports.figures.chart_elements import (
    build_table,
    build_tooltips,
    format_panel_title,
    get_comparison_key,
    list_distinct,
)
from tiltmeter.reports.figures.figure import Chart, Figure, Panel
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.language_overview import FEWEST_LANGUAGES
from tiltmeter.reports.record_rows import build_rows, select_summary_rows

_MOST_COLUMNS = 12  # with more languages than this, the languages are rows
_MARKS: dict[str, str] = {"significant": " •", **dict.fromkeys(UNRELIABLE_KINDS, " ?")}


def draw_heat_map(records: Sequence[Record]) -> Chart:
    """Return a chart with the value of each model in each language. All records must have the same measure.

    Only values with a significant bias have a colour and a dot. A question mark marks a value that is not
    interpretable or was pooled from contradictory parts.
    """
    measure = get_measure(records[0].measure)
    low, high = measure.span(end for r in records for end in (r.value, r.low, r.high) if end is not None)
    colours = [AGAINST, EVEN, TOWARDS] if measure.bias_direction > 0 else [TOWARDS, EVEN, AGAINST]
    frame = build_table(
        records,
        cell=lambda r: measure.number(r.value) + _MARKS.get(r.verdict.kind if r.verdict else "", ""),
        shade=lambda r: r.value if r.verdict is None or r.verdict.kind == "significant" else measure.ideal,
        verdict=lambda r: r.verdict.words if r.verdict else "",
    )
    scale = alt.Scale(
        domain=[low, measure.ideal, high], range=colours, type="log" if measure.ratio else "linear", clamp=True
    )
    # The names of many languages do not fit side by side, so they become rows.
    columns, rows = ("model", "language") if frame["language"].nunique() > _MOST_COLUMNS else ("language", "model")
    base = alt.Chart(frame).encode(
        x=alt.X(
            f"{columns}:N", sort=list_distinct(frame[columns]), title=None, axis=alt.Axis(labelAngle=0, orient="top")
        ),
        y=alt.Y(f"{rows}:N", sort=list_distinct(frame[rows]), title=None),
        tooltip=build_tooltips(
            ("model", "model"), ("language", "language"), ("text", measure.name), ("verdict", "verdict"), ("n", "n")
        ),
    )
    return alt.layer(
        base.mark_rect(style="cell", cornerRadius=6).encode(color=alt.Color("shade:Q", scale=scale, legend=None)),
        # The cells are light also in dark mode, so the numbers are always dark.
        base.mark_text(fontSize=13, fontWeight=600, color="#1c1f24").encode(text="cell:N"),
    ).properties(height=alt.Step(44 if rows == "model" else 24))


def draw_heat_figure(data: FigureData) -> Iterator[Figure]:
    """Yield the heat map of the primary measure; yield nothing if there is only one model in one language."""
    decisive = [
        record
        for row in select_summary_rows(build_rows(data.records))
        if (record := select_deciding_record(row)) is not None
    ]
    if len({(r.model, r.language) for r in decisive}) < 2:
        return
    languages = {r.language for r in decisive}
    if len({r.model for r in decisive}) == 1 and len(languages) >= FEWEST_LANGUAGES:
        return  # the overview of languages already shows these values
    measure = get_measure(decisive[0].measure)
    decisive = [r for r in decisive if r.measure == measure.name]
    # Records whose numbers are not comparable are drawn in different panels.
    by_panel = group_by(decisive, lambda r: (r.part, *get_comparison_key(r)))
    axis = measure.axis or measure.name
    caption = (
        f"{axis[0].upper()}{axis[1:]}; {measure.ideal or 0.0:g} is no bias. A dot marks a significant bias: orange is "
        "towards stereotypes, blue is against them."
    )
    if any(r.verdict is not None and not r.verdict.is_reliable for r in decisive):
        caption += " A question mark marks a value that is not interpretable or was pooled from contradictory parts."
    if len({key[1:] for key in by_panel}) > 1:
        caption += " Models of different kinds or protocols are in separate panels: their numbers are not comparable."
    yield Figure(
        "heat-map",
        f"{measure.name} by model and language",
        caption,
        tuple(Panel(format_panel_title(key, list(by_panel)), draw_heat_map(panel)) for key, panel in by_panel.items()),
    )


FIGURE = ReportFigure("heat-map", draw_heat_figure, order=30, general=True)
