"""The figure of a change to a model: each result before and after the change, with a panel for each measure."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from tiltmeter.comparing.model_change import ChangeRow
from tiltmeter.measures.measure import Measure
from tiltmeter.reports.display_text import format_label
from tiltmeter.reports.figure_style import SERIES, TOWARDS
from tiltmeter.reports.figures.chart_elements import build_tooltips
from tiltmeter.reports.figures.figure import Chart, Figure, LegendEntry, Panel
from tiltmeter.reports.grouping import group_by

_SOFT = "#8b919b"
_COLOURS = {"better": SERIES[2], "worse": TOWARDS, "neither": _SOFT}


def build_change_map(title: str, rows: Sequence[ChangeRow]) -> Figure:
    """Return the figure; a panel has the results of one measure."""
    groups = group_by(rows, lambda row: row.difference.quantity.measure)
    panels = tuple(Panel(measure.name, _draw_panel(measure, of_measure)) for measure, of_measure in groups.items())
    caption = (
        "Each line goes from the value before the change (ring) to the value after it (dot). The bar is the 95% "
        "interval of the change, drawn around the value after it. The dotted line is the ideal. Values are from the "
        "items measured before and after the change."
    )
    legend = (
        LegendEntry("closer to the ideal", _COLOURS["better"]),
        LegendEntry("farther from the ideal", _COLOURS["worse"]),
        LegendEntry("no significant change", _COLOURS["neither"]),
    )
    return Figure("before-and-after", title, caption, panels, legend)


def _draw_panel(measure: Measure, rows: Sequence[ChangeRow]) -> Chart:
    frame = pd.DataFrame([_build_point(row) for row in rows])
    y = alt.Y("result:N", title=None, sort=frame["result"].drop_duplicates().tolist())
    x_scale = alt.Scale(zero=False, nice=True)
    colour = alt.Color("colour:N", scale=None, legend=None)
    tips = build_tooltips(("result", "result"), ("before_text", "before"), ("text", "after"), ("outcome", "outcome"))
    base = alt.Chart(frame).encode(y=y, color=colour, tooltip=tips)
    x_title = measure.axis or measure.name
    layers: list[alt.Chart] = [
        base.mark_rule(strokeWidth=6, opacity=0.35).encode(x=alt.X("low:Q", title=x_title, scale=x_scale), x2="high:Q"),
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("before:Q", title=x_title, scale=x_scale), x2="after:Q"),
        base.mark_point(filled=False, size=60, opacity=1).encode(x=alt.X("before:Q", title=x_title, scale=x_scale)),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=alt.X("after:Q", title=x_title, scale=x_scale)),
    ]
    if measure.ideal is not None and not measure.ideal_at_bound:
        ideal = pd.DataFrame({"value": [measure.ideal]})
        layers.insert(0, alt.Chart(ideal).mark_rule(style="ideal").encode(x=alt.X("value:Q", title=x_title)))
    return alt.layer(*layers).properties(height=40 + 22 * frame["result"].nunique())


def _build_point(row: ChangeRow) -> dict[str, object]:
    contrast, number = row.difference.contrast, row.difference.quantity.measure.number
    name = ", ".join([row.location, *row.where.values()])
    change, low, high = (number(value, signed=True) for value in (contrast.difference, contrast.low, contrast.high))
    kind = {"closer": "better", "farther": "worse"}.get(row.outcome, "neither")
    return {
        "result": format_label(f"{name} (target)" if row.role == "target" else name, 60),
        "before": row.before,
        "after": row.after,
        "low": row.before + contrast.low,
        "high": row.before + contrast.high,
        "before_text": number(row.before),
        "text": f"{number(row.after)} ({change} [{low}, {high}])",
        "outcome": row.outcome,
        "colour": _COLOURS[kind],
    }
