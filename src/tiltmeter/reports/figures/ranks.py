"""Feminine ranks of stereotypes over all models, languages and templates."""

from collections.abc import Sequence

import altair as alt

from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.chart_elements import build_table, build_tooltips, list_distinct
from tiltmeter.reports.figures.figure import Chart
from tiltmeter.reports.figures.stereotypes import StereotypeSides, build_side_colour
from tiltmeter.reports.group_names import get_display_group


def draw_feminine_ranks(records: Sequence[Record], kinds: StereotypeSides) -> Chart:
    """A box for each stereotype over models, languages and templates, with the single ranks as points."""
    frame = build_table(records, kind=lambda r: kinds[r.group], name=lambda r: get_display_group(r, "stereotype"))
    count = frame["name"].nunique()
    middle = frame.groupby("name", sort=False)["value"].median().sort_values(kind="stable")
    base = alt.Chart(frame).encode(
        y=alt.Y("name:N", sort=list_distinct(middle.index), title=None),
        x=alt.X(
            "value:Q",
            title="← feminine · rank · masculine →",
            scale=alt.Scale(domain=(0.5, count + 0.5), nice=False),
            axis=alt.Axis(values=[1, *range(4, count + 1, 4)] if count > 8 else list(range(1, count + 1))),
        ),
        color=build_side_colour(),
    )
    return alt.layer(
        base.mark_boxplot(size=14, extent="min-max", box={"fillOpacity": 0.25}, ticks=False, outliers=False),
        base.mark_point(filled=True, size=26, opacity=0.75).encode(
            tooltip=build_tooltips(
                ("name", "stereotype"), ("model", "model"), ("language", "language"), ("part", "part")
            )
        ),
    ).properties(height=alt.Step(25))
