"""The figure of translation systems: the stereotype rate f_s against the global masculine rate f_m."""

from collections.abc import Iterator, Sequence

import altair as alt
import pandas as pd

from tiltmeter.reports.figures.chart_elements import (
    Domain,
    build_model_colour,
    build_model_legend,
    build_point,
    build_tooltips,
    draw_error_bars,
    hide_overlapping_names,
)
from tiltmeter.reports.figures.figure import Chart, Figure, Panel
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import RecordRow, build_rows, select_summary_rows


def draw_translation_map(rows: Sequence[RecordRow], models: Domain) -> Chart:
    """Return a chart with a point for each system and language, and a line at the maximum possible f_s.

    p_m and p_f are the masculine shares of translations for stereotypes about men and about women. Because
    f_m = (p_m + p_f) / 2 and f_s = p_m - p_f, the maximum of f_s is 2 (1 - f_m) if f_m is above 0.5, and 2 f_m
    otherwise.
    """
    points = pd.DataFrame([_build_point(row) for row in rows])
    x = alt.X(
        "f_m:Q",
        title="f_m: masculine, regardless of the stereotype →",
        scale=alt.Scale(domain=(0, 1)),
        axis=alt.Axis(tickCount=5),
    )
    y = alt.Y(
        "f_s:Q",
        title="f_s: gender follows the stereotype →",
        scale=alt.Scale(domain=(min(0.0, float(points["f_s_low"].min())), 1), nice=False),
        axis=alt.Axis(tickCount=5),
    )
    base = alt.Chart(points).encode(
        color=build_model_colour(models),
        tooltip=build_tooltips(("model", "system"), ("language", "language"), ("text_f_s", "f_s"), ("text_f_m", "f_m")),
    )
    points["name"] = hide_overlapping_names(points["code"], points["f_m"], points["f_s"])
    highest = pd.DataFrame({"f_m": [0.0, 0.5, 1.0], "f_s": [0.0, 1.0, 0.0]})
    return alt.layer(
        alt.Chart(highest).mark_line(style="guide").encode(x, y),
        alt.Chart(pd.DataFrame({"f_m": [0.5], "f_s": [0.0]})).mark_point(style="ideal-mark", size=220).encode(x, y),
        *draw_error_bars(base, "f_m", "f_s"),
        base.mark_point(filled=True, size=80, opacity=1).encode(x, y),
        alt.Chart(points).mark_text(style="name", align="left", dx=7, dy=-7).encode(x, y, text="name:N"),
    ).properties(height=420)


def _build_point(row: RecordRow) -> dict[str, object]:
    record = row["f_s"]
    return {
        "model": record.model,
        "language": get_language_name(record.language),
        "code": record.language,
        **build_point("f_s", record),
        **build_point("f_m", row["f_m"]),
    }


def draw_translation_figure(data: FigureData) -> Iterator[Figure]:
    """Yield the figure of all rows that have f_s and f_m; yield nothing if there are no such rows."""
    rows = [row for row in select_summary_rows(build_rows(data.records)) if {"f_s", "f_m"} <= row.keys()]
    if rows:
        yield Figure(
            "translation-map",
            "Stereotypes and the masculine default",
            "A system in the ring uses both genders equally often for every stereotype. Further to the right, the "
            "masculine is used more often overall; further up, the gender follows the stereotype. No system can be "
            "above the dashed line.",
            (Panel("", draw_translation_map(rows, data.models)),),
            legend=build_model_legend(data.models, (row["f_s"].model for row in rows)),
        )


FIGURE = ReportFigure("translation-map", draw_translation_figure, order=20)
