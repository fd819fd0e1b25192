"""Charts of GEST's rates; printed numbers are hollow, recomputed ones are filled."""

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from io import StringIO
from statistics import fmean

import altair as alt
import pandas as pd

from tiltmeter.forms.gest import FEMALE, MALE, STEREOTYPES
from tiltmeter.papers.figures.point_labels import WIDTH, draw_names, get_field, scale_axis
from tiltmeter.papers.figures.rate_rows import RECOMPUTED, SOURCES, RateRow
from tiltmeter.reports.figure_style import AGAINST, EVEN, MEN, SERIES, TOWARDS, WOMEN
from tiltmeter.reports.figures.figure import Chart, Panel
from tiltmeter.reports.grouping import group_by

# GEST has nine languages.
_NINTH = "#7b7f87"
_NUMBERS = [f"#{number}" for number in STEREOTYPES]
# The colours of the two sides of stereotypes; `name_side` returns the values of the field.
SIDE = alt.Color(
    "side:N", scale=alt.Scale(domain=["about women", "about men"], range=[WOMEN, MEN]), legend=alt.Legend(title=None)
)


def name_side(stereotype: int) -> str:
    """Return the side of a stereotype: about men or about women."""
    return "about men" if stereotype in MALE else "about women"


def draw_rates(rows: Sequence[RateRow]) -> list[Panel]:
    """Return a panel for each system or model with the rates of all stereotypes and their intervals."""
    ends = [end for row in rows for rate in row.rates.values() for end in (rate.value, rate.low, rate.high) if end]
    is_share = rows[0].table == "8"
    scale = alt.Scale(domain=[0, 1]) if is_share else alt.Scale(type="log", domain=[min(ends), max(ends)], nice=False)
    systems = group_by(rows, lambda r: r.system)
    # All panels share one legend. The panel with the most rows has them in the order of the paper.
    by_length = sorted(systems.values(), key=len, reverse=True)
    names = list(dict.fromkeys(row.name for group in by_length for row in group))
    colour = alt.Color("row:N", sort=names, scale=_build_series_scale(names), legend=alt.Legend(title=None))
    return [Panel(system, _draw_system(group, scale, colour, is_share=is_share)) for system, group in systems.items()]


def _draw_system(rows: Sequence[RateRow], scale: alt.Scale, colour: alt.Color, *, is_share: bool) -> Chart:
    frame = pd.DataFrame(
        [
            {
                "stereotype": f"#{number}",
                "row": row.name,
                "series": f"{row.name}, {row.source}",
                "source": row.source,
                "value": rate.value,
                "low": rate.value if rate.low is None else rate.low,
                "high": rate.value if rate.high is None else rate.high,
            }
            for row in rows
            for number, rate in row.rates.items()
        ]
    )
    base = alt.Chart(frame).encode(
        y=alt.Y("stereotype:N", sort=_NUMBERS, title=None),
        yOffset=alt.YOffset("series:N", sort=list(dict.fromkeys(frame["series"]))),
        color=colour,
    )
    axis = alt.Axis() if is_share else alt.Axis(values=[2.0**power for power in range(-6, 7)], format="~g")
    x = alt.X("value:Q", scale=scale, title="masculine rate →", axis=axis)
    layers = alt.layer(
        base.mark_rule(strokeWidth=1.2, opacity=0.6).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        base.transform_filter("datum.source == 'printed'").mark_point(filled=False, size=22).encode(x=x),
        base.transform_filter("datum.source != 'printed'").mark_point(filled=True, size=22, opacity=1).encode(x=x),
    )
    return layers.properties(height=alt.Step(4 * frame["series"].nunique() + 12, **{"for": "position"}))


def draw_ranks(groups: Mapping[str, Sequence[RateRow]]) -> list[Panel]:
    """Return a panel of box plots of the feminine ranks for each source of the numbers."""
    panels = []
    for source, rows in groups.items():
        frame = pd.DataFrame(
            [
                {"stereotype": f"#{number}", "rank": rank, "side": name_side(number)}
                for row in rows
                for number, rank in row.rank_stereotypes().items()
            ]
        )
        order = list(frame.groupby("stereotype")["rank"].mean().sort_values(kind="stable").index)
        base = alt.Chart(frame).encode(
            y=alt.Y("stereotype:N", sort=order, title=None),
            x=alt.X("rank:Q", title="← feminine · rank · masculine →", scale=alt.Scale(domain=(0.5, 16.5), nice=False)),
            color=SIDE,
        )
        boxes = base.mark_boxplot(size=12, box={"fillOpacity": 0.25}, ticks=False)
        means = base.mark_point(shape="diamond", filled=True, size=50).encode(x="mean(rank):Q")
        panels.append(Panel(f"{source}, {len(rows)} rankings", alt.layer(boxes, means).properties(height=alt.Step(22))))
    return panels


def draw_translation_rates(rows: Sequence[RateRow]) -> list[Panel]:
    """Return a panel with f_s against f_m of each system and language."""
    frame = pd.DataFrame(
        [
            {
                "system": row.system,
                "point": f"{row.system}, {row.language}",
                "language": row.language if row.source == SOURCES[0] else "",
                "source": row.source,
                "f_m": (row.average(MALE) + row.average(FEMALE)) / 2,
                "f_s": row.stereotype_rate,
            }
            for row in rows
        ]
    )
    x = alt.X("f_m:Q", title="f_m: masculine, regardless of the stereotype →")
    y = alt.Y("f_s:Q", title="f_s: gender follows the stereotype →")
    return [Panel("", _draw_points(frame, x, y, "system", "language", height=560))]


def draw_sizes(rows: Sequence[RateRow], sizes: Mapping[str, tuple[str, float]] | None = None) -> list[Panel]:
    """Return a panel with g_s, the mean over templates, against the number of parameters.

    `sizes` has the family and the millions of parameters of each model; None means those of the paper's models.
    """
    sizes = load_sizes() if sizes is None else sizes
    frame = pd.DataFrame(
        [
            {
                "family": sizes[system][0],
                "point": system,
                "parameters": sizes[system][1] * 1e6,
                "g_s": fmean(row.stereotype_rate for row in group),
                "source": source,
                "name": "" if source == RECOMPUTED else system,
            }
            for (system, source), group in group_by(rows, lambda r: (r.system, r.source)).items()
        ]
    )
    x = alt.X("parameters:Q", title="parameters →").axis(
        alt.Axis(format="~s", labelExpr="replace(datum.label, 'G', 'B')", values=[10**power for power in range(6, 13)])
    )
    y = alt.Y("g_s:Q", title="g_s, mean over templates")
    return [Panel("", _draw_points(frame, x, y, "family", "name", height=620, is_log=True))]


def draw_heat_map(rows: Sequence[RateRow]) -> list[Panel]:
    """Return a panel for each source with g_s of each model in each language, or with each template."""
    panels = []
    for source, group in group_by(rows, lambda r: r.source).items():
        frame = pd.DataFrame([{"model": row.system, "column": row.name, "g_s": row.stereotype_rate} for row in group])
        base = alt.Chart(frame).encode(
            x=alt.X("column:N", sort=None, title=None, axis=alt.Axis(labelAngle=0, orient="top")),
            y=alt.Y("model:N", sort=None, title=None),
        )
        colour = alt.Scale(domain=[0.5, 1.0, 2.0], range=[AGAINST, EVEN, TOWARDS], type="log", clamp=True)
        cells = alt.layer(
            base.mark_rect(style="cell").encode(color=alt.Color("g_s:Q", scale=colour, legend=None)),
            base.mark_text(color="#1c1f24").encode(text=alt.Text("g_s:Q", format=".2f")),
        )
        panels.append(Panel(source, cells.properties(height=alt.Step(24))))
    return panels


def draw_validity(points: Sequence[tuple[str, str, float, float]]) -> list[Panel]:
    """Return a panel with g_s on WinoBias against g_s on GEST; a point is (model, source, GEST, WinoBias)."""
    frame = pd.DataFrame(points, columns=["point", "source", "gest", "winobias"])
    frame["name"] = [model if source == SOURCES[0] else "" for model, source, *_ in points]
    frame["group"] = "masked models"
    x = alt.X("gest:Q", title="g_s on GEST, mean over templates →")
    y = alt.Y("winobias:Q", title="g_s on WinoBias →")
    return [Panel("", _draw_points(frame, x, y, "group", "name", height=420))]


def _draw_points(
    frame: pd.DataFrame, x: alt.X, y: alt.Y, colour: str, name: str, *, height: int, is_log: bool = False
) -> Chart:
    """Return a chart of points: printed ones hollow and named, recomputed ones filled, a line between the two."""
    across, up = get_field(x), get_field(y)
    scales = scale_axis(list(frame[across]), WIDTH, is_log=is_log), scale_axis(list(frame[up]), height)
    x, y = x.scale(scales[0].build_scale()), y.scale(scales[1].build_scale())
    names = list(dict.fromkeys(frame[colour]))
    legend = alt.Legend(title=None) if len(names) > 1 else None
    hue = alt.Color(f"{colour}:N", sort=names, scale=_build_series_scale(names), legend=legend)
    base = alt.Chart(frame).encode(x=x, y=y, color=hue)
    layers = alt.layer(
        base.mark_line(strokeWidth=1, opacity=0.6).encode(detail="point:N"),
        base.transform_filter("datum.source == 'printed'").mark_point(filled=False, size=90, strokeWidth=1.5),
        base.transform_filter("datum.source != 'printed'").mark_point(filled=True, size=35, opacity=1),
        *draw_names(frame, x, y, scales, name),
    )
    return layers.properties(height=height)


def _build_series_scale(names: Sequence[str]) -> alt.Scale:
    colours = (*SERIES, _NINTH)
    return alt.Scale(domain=list(names), range=[colours[at % len(colours)] for at in range(len(names))])


@cache
def load_sizes() -> dict[str, tuple[str, float]]:
    """Return the family and the millions of parameters of each model, by its name in the tables."""
    text = files(__package__).joinpath("gest_sizes.csv").read_text(encoding="utf-8")
    return {row["system"]: (row["family"], float(row["millions"])) for row in csv.DictReader(StringIO(text))}
