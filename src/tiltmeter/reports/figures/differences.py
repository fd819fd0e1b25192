"""The figure of sentence pairs: the distribution of the difference in log-likelihood between the two sentences."""

from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from tiltmeter.measures.pairs import compute_pair_differences
from tiltmeter.reports.figures.chart_elements import (
    Domain,
    build_model_colour,
    build_model_legend,
    build_tooltips,
    list_distinct,
)
from tiltmeter.reports.figures.figure import Chart, Figure, Panel
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure
from tiltmeter.reports.language_names import get_language_name

_POINTS = 80  # number of points at which a density is computed
_SHARE_IN_RANGE = 0.99  # share of the pairs that are inside the range of the axis
# Heights in pixels: the density curves of a language, each box plot below them, and the gap between languages.
_CURVE, _LANE, _GAP = 62, 13, 12


def draw_differences(table: pd.DataFrame, models: Domain) -> Chart:
    """Draw the differences (more minus less stereotypical sentence) for each language: densities, and a box per model.

    `table` has a row for each pair, with the columns model, language and difference. A box spans the quartiles, and its
    point is the mean. The line of a box spans the pairs within 1.5 times the width of the box, as in Steinborn et al.'s
    Figure 2.
    """
    reach = float(np.quantile(np.abs(table["difference"]), _SHARE_IN_RANGE)) or 1.0
    names = [get_language_name(language) for language in list_distinct(table["language"])]
    lanes = [model for model in models if model in set(table["model"])]
    row = _CURVE + _LANE * len(lanes) + _GAP
    curves, boxes = [], []
    for (model, language), rows in table.groupby(["model", "language"], sort=False):
        values = rows["difference"].to_numpy(float)
        language_title = get_language_name(str(language))
        labels: dict[str, str | int] = {"model": str(model), "language": language_title, "n": len(values)}
        base = float(names.index(language_title) * row + _CURVE)
        curves.append(_estimate_density(values, reach).assign(**labels, base=base, share=f"{np.mean(values > 0):.0%}"))
        boxes.append({**labels, "lane": base + _LANE * (lanes.index(str(model)) + 0.65), **_compute_box(values)})
    frame = pd.concat(curves, ignore_index=True)
    # The tallest density curve of a language takes nine tenths of the height that is reserved for curves.
    tallest = frame.groupby("language")["density"].transform("max").clip(lower=1e-12)
    frame["top"] = frame["base"] - 0.9 * _CURVE * frame["density"] / tallest
    height = row * len(names)
    y_scale = alt.Scale(domain=(0, height), reverse=True, nice=False)
    x_scale = alt.Scale(domain=(-reach, reach), nice=False)
    title = "log-likelihood of more − less stereotypical →"
    x = alt.X("difference:Q", title=title, scale=x_scale, axis=alt.Axis(tickCount=7))
    curve = alt.Chart(frame).encode(x=x, color=build_model_colour(models), detail="language:N")
    tips = build_tooltips(("model", "model"), ("language", "language"), ("share", "pairs right of 0"), ("n", "pairs"))
    titles = pd.DataFrame({"base": [at * row + _CURVE for at in range(len(names))], "name": names})
    return alt.layer(
        alt.Chart(pd.DataFrame({"difference": [0.0]})).mark_rule(style="ideal").encode(x=x),
        curve.mark_area(opacity=0.3, clip=True, line=False).encode(
            y=alt.Y("top:Q", scale=y_scale, axis=None), y2="base:Q", tooltip=tips
        ),
        curve.mark_line(strokeWidth=1.8, clip=True).encode(y=alt.Y("top:Q", scale=y_scale, axis=None), tooltip=tips),
        *_build_box_layers(pd.DataFrame(boxes), models, x_scale, y_scale, title),
        alt.Chart(titles)
        .mark_text(style="name", align="left", dy=-8)
        .encode(x=alt.value(4), y=alt.Y("base:Q", scale=y_scale, axis=None), text="name:N"),
    ).properties(height=height)


def _build_box_layers(
    boxes: pd.DataFrame, models: Domain, x_scale: alt.Scale, y_scale: alt.Scale, title: str
) -> list[alt.Chart]:
    """Return the chart layers of the box plots: the lines, boxes, ticks at the medians, and points at the means."""
    base = alt.Chart(boxes).encode(
        y=alt.Y("lane:Q", scale=y_scale, axis=None),
        color=build_model_colour(models),
        tooltip=build_tooltips(
            ("model", "model"),
            ("language", "language"),
            ("mean_text", "mean"),
            ("median_text", "median"),
            ("quartiles", "quartiles"),
            ("n", "pairs"),
        ),
    )

    def build_x_axis(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=x_scale, title=title)

    return [
        base.mark_rule(strokeWidth=1.3, clip=True).encode(x=build_x_axis("low"), x2="high:Q"),
        base.mark_rule(strokeWidth=7, opacity=0.45, clip=True).encode(x=build_x_axis("lower"), x2="upper:Q"),
        base.mark_tick(thickness=2.5, size=11, opacity=1, orient="vertical", clip=True).encode(
            x=build_x_axis("median")
        ),
        base.mark_point(style="mean", size=34, filled=True, opacity=1, clip=True).encode(x=build_x_axis("mean")),
    ]


def _estimate_density(values: np.ndarray, reach: float) -> pd.DataFrame:
    from scipy.stats import gaussian_kde  # imported here because this takes a second

    at = np.linspace(-reach, reach, _POINTS)
    spread = float(np.std(values))
    density = gaussian_kde(values)(at) if len(values) > 2 and spread > 1e-9 else np.zeros(_POINTS)
    return pd.DataFrame({"difference": at.round(4), "density": density})


def _compute_box(values: np.ndarray) -> dict[str, object]:
    """Return the numbers of a box plot: the quartiles, the mean, and the ends of the line ("low" and "high").

    The ends are the smallest and largest value at a distance of at most 1.5 interquartile ranges from the box.
    """
    lower, median, upper = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    reach = 1.5 * (upper - lower)
    within = values[(values >= lower - reach) & (values <= upper + reach)]
    return {
        "low": float(within.min()),
        "lower": lower,
        "median": median,
        "upper": upper,
        "high": float(within.max()),
        "mean": float(values.mean()),
        "mean_text": f"{values.mean():.2f}",
        "median_text": f"{median:.2f}",
        "quartiles": f"{lower:.2f} to {upper:.2f}",
    }


def draw_difference_figure(data: FigureData) -> Iterator[Figure]:
    """Yield the figure, with a panel for each protocol; yield nothing if the data are not sentence pairs."""
    if not {"more", "less"} <= set(data.scores["role"]):
        return
    table = compute_pair_differences(data.scores.dropna(axis="columns", how="all"))
    panels = tuple(
        Panel(
            f"Protocol {protocol}" if table["protocol"].nunique() > 1 else "",
            draw_differences(rows, data.models),
        )
        for protocol, rows in table.groupby("protocol", sort=False)
    )
    yield Figure(
        "differences",
        "More minus less",
        "The difference in log-likelihood between the more and the less stereotypical sentence of each pair. For a "
        "model without bias, half of the pairs are to the right of the dotted line; hover over a curve for the share. "
        "The box below spans the quartiles, with a tick at the median and a point at the mean; the line of the box "
        "reaches to the last pair within 1.5 times the length of the box.",
        panels,
        legend=build_model_legend(data.models, table["model"]),
    )


FIGURE = ReportFigure("differences", draw_difference_figure, order=60)
