"""Heat map: models by languages, or many languages by models."""

from collections.abc import Sequence

import altair as alt

from tiltmeter.measures import get_measure
from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.chart_elements import build_table, build_tooltips, list_distinct
from tiltmeter.reports.figures.figure import Chart
from tiltmeter.reports.style import AGAINST, EVEN, TOWARDS

# Verdicts under which the number says nothing about bias.
NO_STATEMENT = ("not interpretable", "contradictory")
# More languages than these are rows, not columns.
_MOST_COLUMNS = 12
_MARKS = {"significant": " •", **dict.fromkeys(NO_STATEMENT, " ?")}


def draw_heat_map(records: Sequence[Record]) -> Chart:
    """The value of each model in each language; all records are of one measure.

    A dot marks a significant bias, so that nothing depends on colour alone. A value that is not interpretable,
    or pooled from contradictory parts, has a question mark and no colour.
    """
    measure = get_measure(records[0].measure)
    low, high = measure.span(end for r in records for end in (r.value, r.low, r.high) if end is not None)
    colours = [AGAINST, EVEN, TOWARDS] if measure.stereotype > 0 else [TOWARDS, EVEN, AGAINST]
    frame = build_table(
        records,
        cell=lambda r: measure.number(r.value) + _MARKS.get(r.verdict.kind if r.verdict else "", ""),
        shade=lambda r: measure.ideal if r.verdict and r.verdict.kind in NO_STATEMENT else r.value,
        verdict=lambda r: r.verdict.words if r.verdict else "",
    )
    scale = alt.Scale(
        domain=[low, measure.ideal, high], range=colours, type="log" if measure.ratio else "linear", clamp=True
    )
    # Names of many languages do not fit beside each other.
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
        # The cells are light in both colour schemes, so their numbers are dark in both.
        base.mark_text(fontSize=13, fontWeight=600, color="#1c1f24").encode(text="cell:N"),
    ).properties(height=alt.Step(44 if rows == "model" else 24))
