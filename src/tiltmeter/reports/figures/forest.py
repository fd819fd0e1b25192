"""Forest plots: the value and interval of each group of items; a group is, for example, a bias type.

This module arranges the rows; `chart_elements` draws points and intervals.
"""

from collections.abc import Sequence
from functools import partial

import altair as alt

from tiltmeter.measures import get_measure
from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.chart_elements import (
    Domain,
    build_model_colour,
    build_table,
    build_tooltips,
    draw_intervals,
    list_distinct,
)
from tiltmeter.reports.figures.figure import Chart

_ROW = 15  # pixels per interval
_GAP = 14  # pixels between groups


def draw_forest(records: Sequence[Record], models: Domain, scale: tuple[float, float] | None = None) -> Chart:
    """Return a chart with a row for each group of items and an interval for each model; all records have one measure.

    `scale` is the range of the horizontal axis, if it must be the same in several panels.
    """
    measure = get_measure(records[0].measure)
    ends = [end for r in records for end in (r.value, r.low, r.high) if end is not None]
    frame = build_table(records)
    groups, present = list_distinct(frame["group"]), [model for model in models if model in set(frame["model"])]
    x_scale = alt.Scale(domain=scale or measure.span(ends), nice=False, type="log" if measure.ratio else "linear")
    axis = alt.Axis(tickCount=5, values=[0.25, 0.5, 1, 2, 4, 8]) if measure.ratio else alt.Axis(tickCount=5)
    base = alt.Chart(frame).encode(
        y=alt.Y("group:N", sort=groups, title=None, axis=alt.Axis(labelLimit=130)),
        yOffset=alt.YOffset("model:N", sort=present),
        color=build_model_colour(models),
        tooltip=build_tooltips(
            ("model", "model"), ("language", "language"), ("group", "of"), ("text", measure.name), ("n", "n")
        ),
    )
    build_x = partial(alt.X, scale=x_scale, title=measure.name, axis=axis)
    chart = draw_intervals(base, build_x, measure.ideal)
    return chart.properties(height=alt.Step(_ROW * len(present) + _GAP, **{"for": "position"}))
