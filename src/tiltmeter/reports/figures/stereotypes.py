"""The masculine rates of stereotypes, with intervals."""

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from tiltmeter.forms.gest import STEREOTYPES, get_gest_side
from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.chart_elements import build_table, build_tooltips, list_distinct
from tiltmeter.reports.figures.figure import Chart
from tiltmeter.reports.figures.template_rates import build_template_shape
from tiltmeter.reports.group_names import get_display_group
from tiltmeter.reports.style import MEN, WOMEN

StereotypeSides = Mapping[str, str]
_SIDES = {"feminine": "about women", "masculine": "about men"}


def find_stereotype_sides(scores: pd.DataFrame) -> StereotypeSides:
    """Whether each stereotype in a table of scores is about women or about men, by its number as text."""
    kinds = {str(number): _SIDES[get_gest_side(number)] for number in STEREOTYPES}
    if {"stereotype", "side"} <= set(scores.columns):
        for number, side in scores[["stereotype", "side"]].dropna().drop_duplicates().itertuples(index=False):
            kinds.setdefault(str(int(number)), _SIDES[side])
    return kinds


def build_side_colour() -> alt.Color:
    """The colours of stereotypes about women and about men."""
    return alt.Color(
        "kind:N",
        scale=alt.Scale(domain=["about women", "about men"], range=[WOMEN, MEN]),
        legend=alt.Legend(title=None, symbolType="circle"),
    )


def draw_stereotypes(
    records: Sequence[Record], kinds: StereotypeSides, scale: tuple[float, float] | None = None
) -> Chart:
    """The masculine rate of each stereotype for one model and language; a line for each template.

    Only comparisons between stereotypes are meaningful, since one of the two words is more frequent than the other.
    """
    rate = records[0].measure
    records = sorted(records, key=lambda r: (int(r.group), r.part))
    frame = build_table(records, kind=lambda r: kinds[r.group], name=lambda r: get_display_group(r, "stereotype"))
    parts = list_distinct(sorted(frame["part"]))
    ratio = rate.startswith("q")
    x_scale = alt.Scale(type="log" if ratio else "linear", nice=False, domain=scale or alt.Undefined)
    title = f"{rate}: masculine over feminine →" if ratio else f"{rate}: share translated as masculine →"
    base = alt.Chart(frame).encode(
        y=alt.Y("name:N", sort=list_distinct(frame["name"]), title=None),
        yOffset=alt.YOffset("part:N", sort=parts),
        color=build_side_colour(),
        tooltip=build_tooltips(("name", "stereotype"), ("part", "part"), ("text", rate), ("n", "n")),
    )
    x = alt.X("value:Q", scale=x_scale, title=title, axis=alt.Axis(tickCount=6, format="~g"))
    layers: list[alt.Chart] = [
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(
            x=alt.X("low:Q", scale=x_scale, title=title, axis=alt.Axis(tickCount=6, format="~g")), x2="high:Q"
        ),
        base.mark_point(filled=True, size=46, opacity=1).encode(x=x, shape=build_template_shape(parts)),
    ]
    if not ratio:
        layers.insert(0, alt.Chart(pd.DataFrame({"value": [0.5]})).mark_rule(style="ideal").encode(x=x))
    return alt.layer(*layers).properties(height=alt.Step(11 * len(parts) + 12, **{"for": "position"}))
