"""The figure of a model among reference models: one row for each model, with its value and interval."""

import altair as alt
import pandas as pd

from tiltmeter.comparing.reference_position import Position
from tiltmeter.reports.display_text import format_label
from tiltmeter.reports.figure_style import SERIES
from tiltmeter.reports.figures.chart_elements import build_tooltips, draw_intervals
from tiltmeter.reports.figures.figure import Figure, Panel

_GREY = "#8b919b"


def build_reference_map(slug: str, title: str, position: Position) -> Figure:
    """Return the figure of one position; the models are sorted by value, highest first."""
    measure = position.quantity.measure
    frame = _build_frame(position)
    ends = [float(end) for name in ("value", "low", "high") for end in frame[name]]
    scale = alt.Scale(domain=list(measure.span(ends)), nice=False, type="log" if measure.ratio else "linear")
    base = alt.Chart(frame).encode(
        y=alt.Y("model:N", title=None, sort=list(frame["model"]), axis=alt.Axis(labelLimit=260)),
        color=alt.Color(
            "role:N", scale=alt.Scale(domain=["model", "reference"], range=[SERIES[1], _GREY]), legend=None
        ),
        tooltip=build_tooltips(("model", "model"), ("text", measure.name), ("outcome", "this model is")),
    )

    def build_x(column: str) -> alt.X:
        axis = alt.Axis(tickCount=5, values=[0.25, 0.5, 1, 2, 4, 8]) if measure.ratio else alt.Axis(tickCount=5)
        return alt.X(column, scale=scale, title=measure.axis or measure.name, axis=axis)

    # The padding is room for names in fonts that are wider than the font with which the widths are computed.
    chart = draw_intervals(base, build_x, measure.ideal).properties(
        height=alt.Step(20), padding={"left": 30, "right": 10, "top": 5, "bottom": 5}
    )
    caption = (
        f"{measure.name} of {format_label(position.cell.model)} (orange) and of the comparable reference models, with "
        "95% intervals. The dotted line is the ideal. Models can differ although their intervals overlap, because they "
        "are compared item by item; the table has the tests."
    )
    return Figure(slug, title, caption, (Panel("", chart),))


def _build_frame(position: Position) -> pd.DataFrame:
    number = position.quantity.measure.number
    rows = [(format_label(position.cell.model), "model", position.value, position.interval, "")]
    rows += [(format_label(one.label), "reference", one.value, one.interval, one.outcome) for one in position.standings]
    return pd.DataFrame(
        [
            {
                "model": name,
                "role": role,
                "value": value,
                "low": interval[0] if interval else value,
                "high": interval[1] if interval else value,
                "text": f"{number(value)} [{number(interval[0])}, {number(interval[1])}]"
                if interval
                else number(value),
                "outcome": outcome,
            }
            for name, role, value, interval, outcome in sorted(rows, key=lambda row: -row[2])
        ]
    )
