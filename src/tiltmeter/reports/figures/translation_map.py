"""Translation systems: the stereotype rate f_s against the global masculine rate f_m."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from tiltmeter.reports.figures.chart_elements import Domain, build_model_colour, build_tooltips, hide_overlapping_names
from tiltmeter.reports.figures.figure import Chart
from tiltmeter.reports.formatting import format_four_digits, format_with_interval
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import RecordRow


def draw_translation_map(rows: Sequence[RecordRow], models: Domain) -> Chart:
    """A point for each system and language, below the line of the highest possible f_s.

    With f_m = (p_m + p_f) / 2 and f_s = p_m - p_f, the highest f_s is 2 (1 - f_m) for f_m above one half,
    and 2 f_m below.
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
    most = pd.DataFrame({"f_m": [0.0, 0.5, 1.0], "f_s": [0.0, 1.0, 0.0]})
    return alt.layer(
        alt.Chart(most).mark_line(style="guide").encode(x, y),
        alt.Chart(pd.DataFrame({"f_m": [0.5], "f_s": [0.0]})).mark_point(style="ideal-mark", size=220).encode(x, y),
        base.mark_rule(strokeWidth=1.5, opacity=0.85).encode(x="f_m_low:Q", x2="f_m_high:Q", y="f_s:Q"),
        base.mark_rule(strokeWidth=1.5, opacity=0.85).encode(x="f_m:Q", y="f_s_low:Q", y2="f_s_high:Q"),
        base.mark_point(filled=True, size=80, opacity=1).encode(x, y),
        alt.Chart(points).mark_text(style="name", align="left", dx=7, dy=-7).encode(x, y, text="name:N"),
    ).properties(height=420)


def _build_point(row: RecordRow) -> dict[str, object]:
    point: dict[str, object] = {}
    for name in ("f_s", "f_m"):
        record = row[name]
        point |= {
            "model": record.model,
            "language": get_language_name(record.language),
            "code": record.language,
            name: record.value,
            f"{name}_low": record.value if record.low is None else record.low,
            f"{name}_high": record.value if record.high is None else record.high,
            f"text_{name}": format_with_interval(record, format_four_digits),
        }
    return point
