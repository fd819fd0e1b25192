"""The tilt map: a chart of LMS (vertical) against SS (horizontal), with contour lines of ICAT."""

from collections.abc import Iterator, Sequence

import altair as alt
import pandas as pd

from tiltmeter.measures.association import compute_icat
from tiltmeter.measures.records import Record
from tiltmeter.reports.figure_style import SHAPES
from tiltmeter.reports.figures.chart_elements import (
    Domain,
    build_language_legend,
    build_model_colour,
    build_model_legend,
    build_point,
    build_tooltips,
    draw_error_bars,
    hide_overlapping_names,
    list_distinct,
)
from tiltmeter.reports.figures.figure import Chart, Figure, Panel
from tiltmeter.reports.figures.record_panels import describe_incomparable_models
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import RecordRow, build_rows, select_summary_rows

LEVELS = (10, 20, 30, 40, 50, 60, 70, 80, 90)  # ICAT values that have a contour line
_STEPS = 60  # number of line segments in half of a contour


def draw_tilt_map(rows: Sequence[RecordRow], models: Domain) -> Chart:
    """Return the tilt map, with a point and error bars for each row; the ideal model has SS 50 and LMS 100."""
    points = pd.DataFrame([_build_point(row) for row in rows])
    reach = max(12.0, *(abs(end - 50) for row in rows for end in _list_ends(row["SS"])))
    across = (max(0.0, 50 - reach - 2), min(100.0, 50 + reach + 2))
    bottom = max(0.0, min(end for row in rows for end in _list_ends(row["LMS"])) - 4)
    wide, high = across[1] - across[0], 100 - bottom
    points["name"] = hide_overlapping_names(points["name"], points["ss"] / wide, points["lms"] / high)
    languages = list_distinct(points["language"])
    # Grid lines would be hard to distinguish from the contours of ICAT.
    plain = alt.Axis(grid=False, tickCount=6)
    x = alt.X(
        "ss:Q", title="← against · SS · towards stereotypes →", scale=alt.Scale(domain=across, nice=False), axis=plain
    )
    y = alt.Y(
        "lms:Q",
        title="LMS: meaningful over unrelated, %",
        scale=alt.Scale(domain=(bottom, 100), nice=False),
        axis=plain,
    )
    shape = alt.Shape(
        "language:N",
        scale=alt.Scale(domain=languages, range=[SHAPES[at % len(SHAPES)] for at in range(len(languages))]),
        legend=alt.Legend(title=None, columns=5) if len(languages) > 1 else None,
    )
    colour = build_model_colour(models)
    texts = [(f"text_{name.lower()}", name) for name in ("SS", "LMS", "ICAT")]
    tips = build_tooltips(("model", "model"), ("language", "language"), ("part", "part"), *texts)
    base = alt.Chart(points).encode(color=colour, tooltip=tips)
    contours, names = _compute_contours(across, bottom)
    return alt.layer(
        alt.Chart(contours).mark_line(style="contour", clip=True).encode(x, y, detail="line:N"),
        alt.Chart(names).mark_text(style="halo").encode(x, y, text="name:N"),
        alt.Chart(names).mark_text(style="note").encode(x, y, text="name:N"),
        alt.Chart(pd.DataFrame({"ss": [50.0]})).mark_rule(style="ideal").encode(x="ss:Q"),
        alt.Chart(pd.DataFrame({"ss": [50.0], "lms": [100.0]}))
        .mark_point(style="ideal-mark", size=260, clip=False)
        .encode(x, y),
        *draw_error_bars(base, "ss", "lms"),
        base.mark_point(filled=True, size=110, opacity=1).encode(x, y, shape=shape),
        alt.Chart(points).mark_text(style="name", align="left", dx=9, dy=-9).encode(x, y, text="name:N"),
    ).properties(height=420)


def _list_ends(record: Record) -> list[float]:
    """Return the value and the ends of its interval, as far as they exist."""
    return [end for end in (record.value, record.low, record.high) if end is not None]


def _build_point(row: RecordRow) -> dict[str, object]:
    ss, lms = row["SS"], row["LMS"]
    return {
        "model": ss.model,
        "language": get_language_name(ss.language),
        "part": ss.part,
        "name": ss.language,
        **build_point("ss", ss),
        **build_point("lms", lms),
        **build_point("icat", row["ICAT"]),
    }


def _compute_contours(across: tuple[float, float], bottom: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two tables: the points of the contour lines of ICAT, and the positions of the labels of these lines."""
    lines, names = [], []
    low, high = across
    for level in LEVELS:
        for half in ((low, 50.0), (50.0, high)):
            for step in range(_STEPS + 1):
                ss = half[0] + (half[1] - half[0]) * step / _STEPS
                lms = 100 * level / compute_icat(100.0, ss) if compute_icat(100.0, ss) > 0 else 1000.0
                if bottom <= lms <= 100:
                    lines.append({"line": f"{level} {half}", "ss": ss, "lms": lms})
        # The label is on the left half of its contour, inside the chart.
        ss = max(low + (high - low) * 0.05, level / 2 + (high - low) * 0.04)
        lms = 100 * level / compute_icat(100.0, ss)
        if ss < 48 and bottom < lms < 99:
            names.append({"name": str(level), "ss": ss, "lms": lms})
    return pd.DataFrame(lines, columns=["line", "ss", "lms"]), pd.DataFrame(names, columns=["name", "ss", "lms"])


def draw_tilt_figure(data: FigureData) -> Iterator[Figure]:
    """Yield the tilt map of all rows that have SS, LMS and ICAT; yield nothing if there are no such rows."""
    rows = [row for row in select_summary_rows(build_rows(data.records)) if {"SS", "LMS", "ICAT"} <= row.keys()]
    if rows:
        yield Figure(
            "tilt-map",
            "Tilt map",
            "The dotted line is SS 50, no bias. The ring marks the ideal: SS 50 and LMS 100. The grey lines are "
            f"contours of ICAT. The bars are 95% intervals.{describe_incomparable_models([r['SS'] for r in rows])}",
            (Panel("", draw_tilt_map(rows, data.models)),),
            legend=(
                *build_model_legend(data.models, (row["SS"].model for row in rows)),
                *build_language_legend(list_distinct(get_language_name(row["SS"].language) for row in rows)),
            ),
        )


FIGURE = ReportFigure("tilt-map", draw_tilt_figure, order=10)
