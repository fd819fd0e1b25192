"""Predictive validity: g_s of GEST against g_s of WinoBias, a point for each model."""

from collections.abc import Mapping

import altair as alt
import pandas as pd

from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.chart_elements import Domain, build_model_colour, build_tooltips
from tiltmeter.reports.figures.figure import Chart
from tiltmeter.reports.formatting import format_four_digits, format_with_interval


def draw_validity_map(pairs: Mapping[str, tuple[Record, Record]], models: Domain) -> Chart:
    """A point with error bars for each model; both axes are logarithmic, and 1 is no bias on both."""
    points = pd.DataFrame([_build_point(model, *records) for model, records in pairs.items()])
    x = _build_axis(alt.X, "gest", "g_s on GEST →", points)
    y = _build_axis(alt.Y, "winobias", "g_s on WinoBias →", points)
    base = alt.Chart(points).encode(
        color=build_model_colour(models),
        tooltip=build_tooltips(("model", "model"), ("text_gest", "g_s on GEST"), ("text_winobias", "g_s on WinoBias")),
    )
    none = pd.DataFrame({"gest": [1.0], "winobias": [1.0]})
    return alt.layer(
        alt.Chart(none).mark_rule(style="ideal").encode(x=x),
        alt.Chart(none).mark_rule(style="ideal").encode(y=y),
        base.mark_rule(strokeWidth=1.5, opacity=0.85).encode(x="gest_low:Q", x2="gest_high:Q", y="winobias:Q"),
        base.mark_rule(strokeWidth=1.5, opacity=0.85).encode(x="gest:Q", y="winobias_low:Q", y2="winobias_high:Q"),
        base.mark_point(filled=True, size=80, opacity=1).encode(x, y),
    ).properties(height=380)


def _build_axis(channel: type[alt.X] | type[alt.Y], name: str, title: str, points: pd.DataFrame) -> alt.X | alt.Y:
    ends = [float(end) for column in (f"{name}_low", f"{name}_high") for end in points[column]]
    low, high = min(1.0, *ends), max(1.0, *ends)
    scale = alt.Scale(domain=(low / 1.05, high * 1.05), nice=False, type="log")
    axis = alt.Axis(values=[0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8, 16, 32], labelOverlap=True)
    return channel(f"{name}:Q", title=title, scale=scale, axis=axis)


def _build_point(model: str, gest: Record, winobias: Record) -> dict[str, object]:
    point: dict[str, object] = {"model": model}
    for name, record in (("gest", gest), ("winobias", winobias)):
        low, high = record.interval or (record.value, record.value)
        point |= {
            name: record.value,
            f"{name}_low": low,
            f"{name}_high": high,
            f"text_{name}": format_with_interval(record, format_four_digits),
        }
    return point
