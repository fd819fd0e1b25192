"""The figure of a measure against model size: a point with an interval per model, a line per model family."""

import math
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from tiltmeter.comparing.size_slopes import POOLED, SizeSlope
from tiltmeter.measures.size_regression import build_slope_design
from tiltmeter.reports.display_text import format_label
from tiltmeter.reports.figure_style import SERIES, SHAPES
from tiltmeter.reports.figures.chart_elements import build_tooltips
from tiltmeter.reports.figures.figure import Figure, LegendEntry, Panel


def build_size_map(slug: str, title: str, trend: Sequence[SizeSlope]) -> Figure:
    """Return the figure of one measure on one benchmark; `trend` contains a slope for each model family."""
    slopes = [slope for slope in trend if slope.family != POOLED]
    measure = slopes[0].quantity.measure
    families = [format_label(slope.family) for slope in slopes]
    points = pd.DataFrame(
        [
            {
                "family": format_label(slope.family),
                "model": format_label(model.model),
                "parameters": model.parameters,
                "value": model.value,
                "low": model.low,
                "high": model.high,
                "text": f"{measure.number(model.value)} [{measure.number(model.low)}, {measure.number(model.high)}]",
            }
            for slope in slopes
            for model in slope.models
        ]
    )
    lines = pd.DataFrame([row for slope in slopes for row in _build_line(slope)])
    colours = alt.Color(
        "family:N",
        scale=alt.Scale(domain=families, range=[SERIES[at % len(SERIES)] for at in range(len(families))]),
        legend=alt.Legend(title=None) if len(families) > 1 else None,
    )
    shapes = alt.Shape(
        "family:N",
        scale=alt.Scale(domain=families, range=[SHAPES[at % len(SHAPES)] for at in range(len(families))]),
        legend=alt.Legend(title=None) if len(families) > 1 else None,
    )
    x = alt.X("parameters:Q", title="parameters →", scale=alt.Scale(type="log", nice=False, padding=20))
    x = x.axis(
        alt.Axis(
            format="~s",
            labelExpr="replace(datum.label, 'G', 'B')",
            values=_compute_ticks(points["parameters"].tolist()),
            labelOverlap=True,
        )
    )
    values = [*points["low"], *points["high"], *lines["value"], *([] if measure.ideal is None else [measure.ideal])]
    domain = _compute_axis_domain(values, measure.bounds)
    y = alt.Y("value:Q", title=measure.axis or measure.name, scale=alt.Scale(zero=False, nice=False, domain=domain))
    base = alt.Chart(points).encode(
        x=x,
        color=colours,
        tooltip=build_tooltips(
            ("model", "model"), ("family", "family"), ("parameters", "parameters"), ("text", measure.name)
        ),
    )
    layers = [
        base.mark_rule(strokeWidth=1.5, opacity=0.7).encode(y=alt.Y("low:Q"), y2="high:Q"),
        alt.Chart(lines).mark_line(strokeWidth=2).encode(x=x, y=y, color=colours),
        base.mark_point(filled=True, size=70, opacity=1).encode(y=y, shape=shapes),
    ]
    if measure.ideal is not None:
        ideal = pd.DataFrame({"value": [measure.ideal]})
        layers.insert(0, alt.Chart(ideal).mark_rule(style="ideal").encode(y=y))
    keys = tuple(
        LegendEntry(name, SERIES[at % len(SERIES)], SHAPES[at % len(SHAPES)])
        for at, name in enumerate(families)
        if len(families) > 1
    )
    caption = "A point for each model, with its 95% interval over items; a least-squares line for each family."
    return Figure(slug, title, caption, (Panel("", alt.layer(*layers).properties(height=340)),), keys)


def _compute_axis_domain(values: Sequence[float], bounds: tuple[float, float] | None) -> list[float]:
    """Return the two ends of an axis with some space around the values, but not beyond the bounds of the measure.

    >>> _compute_axis_domain([2.0, 52.0], (0.0, 100.0)), _compute_axis_domain([-1.0, 1.0], None)
    ([0.0, 55.0], [-1.12, 1.12])
    """
    space = 0.06 * (max(values) - min(values))
    ends = [min(values) - space, max(values) + space]
    return ends if bounds is None else [max(ends[0], min(bounds[0], *values)), min(ends[1], max(bounds[1], *values))]


def _build_line(slope: SizeSlope) -> list[dict[str, object]]:
    """Return the two end points of the regression line of a model family."""
    sizes = np.log10([model.parameters for model in slope.models])
    families = np.array([slope.family] * len(sizes), dtype=object)
    (intercept, rise), *_ = np.linalg.lstsq(
        build_slope_design(sizes, families), np.array([model.value for model in slope.models]), rcond=None
    )
    return [
        {"family": format_label(slope.family), "parameters": float(10**size), "value": float(intercept + rise * size)}
        for size in (sizes.min(), sizes.max())
    ]


def _compute_ticks(parameters: Sequence[float]) -> list[float]:
    """Return the ticks of the axis: 1, 2 and 5 times each power of ten in the range of the models' parameter counts."""
    low, high = math.floor(math.log10(min(parameters))), math.ceil(math.log10(max(parameters)))
    return [step * 10.0**power for power in range(low, high + 1) for step in (1, 2, 5)]
