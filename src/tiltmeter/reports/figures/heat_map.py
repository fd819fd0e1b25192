"""The heat map: models by languages."""

from collections.abc import Sequence

import altair as alt

from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.figure import Chart
from tiltmeter.reports.figures.series import ordered, pointing, table
from tiltmeter.reports.leans import LEANS, side, span
from tiltmeter.reports.style import AGAINST, EVEN, TOWARDS


def heat_map(records: Sequence[Record]) -> Chart:
    """The lean of each model in each language; all records are of one measure. What is no more than noise is pale.

    A dot marks what is more than noise, so that nothing depends on colour alone.
    """
    lean = LEANS[records[0].measure]
    low, high = span(list(records))
    colours = [AGAINST, EVEN, TOWARDS] if lean.stereotype > 0 else [TOWARDS, EVEN, AGAINST]
    frame = table(
        records,
        text=lambda r: lean.number(r.value) + (" •" if side(r) != "none" else ""),
        away=lambda r: abs(lean.distance(r.value)) / max(abs(lean.distance(low)), abs(lean.distance(high))),
    )
    scale = alt.Scale(domain=[low, lean.ideal, high], range=colours, type="log" if lean.ratio else "linear", clamp=True)
    base = alt.Chart(frame).encode(
        x=alt.X("language:N", sort=ordered(frame["language"]), title=None, axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("model:N", sort=ordered(frame["model"]), title=None),
        tooltip=pointing(("model", "model"), ("language", "language"), ("said", lean.measure), ("n", "n")),
    )
    return alt.layer(
        base.mark_rect(style="cell", cornerRadius=6).encode(color=alt.Color("value:Q", scale=scale, legend=None)),
        # The cells are light in either scheme, so their numbers are dark in either.
        base.mark_text(fontSize=13, fontWeight=600, color="#1c1f24").encode(text="text:N"),
    ).properties(height=alt.Step(44))
