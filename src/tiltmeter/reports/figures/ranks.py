"""Feminine ranks of GEST's stereotypes over all models, languages and templates."""

from collections.abc import Sequence

import altair as alt

from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.figure import Chart
from tiltmeter.reports.figures.series import ordered, table, tooltips
from tiltmeter.reports.figures.stereotypes import kind_colour, kind_of
from tiltmeter.reports.group_names import group_name


def feminine_ranks(records: Sequence[Record]) -> Chart:
    """A box for each stereotype over models, languages and templates, with the single ranks as points."""
    frame = table(records, kind=lambda r: kind_of(r.group), name=lambda r: group_name("stereotype", r.group))
    middle = frame.groupby("name", sort=False)["value"].median().sort_values(kind="stable")
    base = alt.Chart(frame).encode(
        y=alt.Y("name:N", sort=ordered(middle.index), title=None),
        x=alt.X(
            "value:Q",
            title="← feminine · rank · masculine →",
            scale=alt.Scale(domain=(0.5, 16.5), nice=False),
            axis=alt.Axis(values=[1, 4, 8, 12, 16]),
        ),
        color=kind_colour(),
    )
    return alt.layer(
        base.mark_boxplot(size=14, extent="min-max", box={"fillOpacity": 0.25}, ticks=False, outliers=False),
        base.mark_point(filled=True, size=26, opacity=0.75).encode(
            tooltip=tooltips(("name", "stereotype"), ("model", "model"), ("language", "language"), ("part", "part"))
        ),
    ).properties(height=alt.Step(25))
