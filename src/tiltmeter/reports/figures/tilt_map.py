"""Tilt map: LMS against SS, with contours of ICAT."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from tiltmeter.measures.association import compute_icat
from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.chart_elements import (
    Domain,
    build_model_colour,
    build_tooltips,
    hide_overlapping_names,
    list_distinct,
)
from tiltmeter.reports.figures.figure import Chart
from tiltmeter.reports.formatting import format_four_digits, format_with_interval
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import RecordRow
from tiltmeter.reports.style import SHAPES

LEVELS = (10, 20, 30, 40, 50, 60, 70, 80, 90)
_STEPS = 60


def draw_tilt_map(rows: Sequence[RecordRow], models: Domain) -> Chart:
    """A point with error bars for each row; the ideal is SS 50 and LMS 100."""
    points = pd.DataFrame([_build_point(row) for row in rows])
    reach = max(12.0, *(abs(end - 50) for row in rows for end in _list_ends(row["SS"])))
    across = (max(0.0, 50 - reach - 2), min(100.0, 50 + reach + 2))
    bottom = max(0.0, min(end for row in rows for end in _list_ends(row["LMS"])) - 4)
    wide, high = across[1] - across[0], 100 - bottom
    points["name"] = hide_overlapping_names(points["name"], points["ss"] / wide, points["lms"] / high)
    languages = list_distinct(points["language"])
    # The contours of ICAT take the place of grid lines.
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
    tips = build_tooltips(
        ("model", "model"), ("language", "language"), ("part", "part"), ("SS", "SS"), ("LMS", "LMS"), ("ICAT", "ICAT")
    )
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
        base.mark_rule(strokeWidth=1.5, opacity=0.85).encode(x="ss_low:Q", x2="ss_high:Q", y="lms:Q"),
        base.mark_rule(strokeWidth=1.5, opacity=0.85).encode(x="ss:Q", y="lms_low:Q", y2="lms_high:Q"),
        base.mark_point(filled=True, size=110, opacity=1).encode(x, y, shape=shape),
        alt.Chart(points).mark_text(style="name", align="left", dx=9, dy=-9).encode(x, y, text="name:N"),
    ).properties(height=420)


def _list_ends(record: Record) -> list[float]:
    return [end for end in (record.value, record.low, record.high) if end is not None]


def _build_point(row: RecordRow) -> dict[str, object]:
    ss, lms = row["SS"], row["LMS"]
    return {
        "model": ss.model,
        "language": get_language_name(ss.language),
        "part": ss.part,
        "name": ss.language,
        "ss": ss.value,
        "ss_low": ss.value if ss.low is None else ss.low,
        "ss_high": ss.value if ss.high is None else ss.high,
        "lms": lms.value,
        "lms_low": lms.value if lms.low is None else lms.low,
        "lms_high": lms.value if lms.high is None else lms.high,
        "SS": format_with_interval(ss, format_four_digits),
        "LMS": format_with_interval(lms, format_four_digits),
        "ICAT": format_with_interval(row["ICAT"], format_four_digits),
    }


def _compute_contours(across: tuple[float, float], bottom: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The contours of ICAT, and the positions of their labels."""
    lines, names = [], []
    low, high = across
    for level in LEVELS:
        for half in ((low, 50.0), (50.0, high)):
            for step in range(_STEPS + 1):
                ss = half[0] + (half[1] - half[0]) * step / _STEPS
                lms = 100 * level / compute_icat(100.0, ss) if compute_icat(100.0, ss) > 0 else 1000.0
                if bottom <= lms <= 100:
                    lines.append({"line": f"{level} {half}", "ss": ss, "lms": lms})
        # The label is on the left arm of the contour, inside the frame or where the contour leaves it at the top.
        ss = max(low + (high - low) * 0.05, level / 2 + (high - low) * 0.04)
        lms = 100 * level / compute_icat(100.0, ss)
        if ss < 48 and bottom < lms < 99:
            names.append({"name": str(level), "ss": ss, "lms": lms})
    return pd.DataFrame(lines, columns=["line", "ss", "lms"]), pd.DataFrame(names, columns=["name", "ss", "lms"])
