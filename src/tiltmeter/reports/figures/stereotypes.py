"""The figure of the masculine rates of gender stereotypes, with confidence intervals."""

from collections.abc import Iterator, Mapping, Sequence

import altair as alt
import pandas as pd

from tiltmeter.forms.gest import STEREOTYPES, get_gest_side
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.figure_style import MEN, WOMEN
from tiltmeter.reports.figures.chart_elements import (
    MOST_PANELS,
    build_table,
    build_tooltips,
    list_distinct,
)
from tiltmeter.reports.figures.figure import Chart, Figure, LegendEntry, Panel
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure
from tiltmeter.reports.figures.template_rates import build_template_legend, build_template_shape
from tiltmeter.reports.group_names import get_display_group
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import group_records

StereotypeSides = Mapping[str, str]
SIDE_KEYS = (LegendEntry("stereotypes about women", WOMEN), LegendEntry("stereotypes about men", MEN))
_SIDES = {"feminine": "about women", "masculine": "about men"}


def find_stereotype_sides(scores: pd.DataFrame) -> StereotypeSides:
    """Return "about women" or "about men" for each stereotype; the keys are the stereotype numbers as text.

    Stereotypes of GEST are included, and stereotypes of the user's own data if they occur in the table of scores.
    """
    sides = {str(number): _SIDES[get_gest_side(number)] for number in STEREOTYPES}
    if {"stereotype", "side"} <= set(scores.columns):
        for number, side in scores[["stereotype", "side"]].dropna().drop_duplicates().itertuples(index=False):
            sides.setdefault(str(int(number)), _SIDES[side])
    return sides


def build_side_colour() -> alt.Color:
    """Return the colours of stereotypes about women and about men."""
    return alt.Color(
        "side:N",
        scale=alt.Scale(domain=["about women", "about men"], range=[WOMEN, MEN]),
        legend=alt.Legend(title=None, symbolType="circle"),
    )


def draw_stereotypes(
    records: Sequence[Record], sides: StereotypeSides, scale: tuple[float, float] | None = None
) -> Chart:
    """Return a chart of the masculine rate of each stereotype, with an interval for each template.

    `records` are of one model in one language. `scale` is the range of the horizontal axis.
    """
    rate = records[0].measure
    records = sorted(records, key=lambda r: (int(r.group), r.part))
    frame = build_table(records, side=lambda r: sides[r.group], name=lambda r: get_display_group(r, "stereotype"))
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


def draw_stereotype_figure(data: FigureData) -> Iterator[Figure]:
    """Yield the figure of the masculine rates, with a panel for each model and language."""
    sides = find_stereotype_sides(data.scores)
    rates = [r for r in data.records if r.view == "stereotype" and r.measure in ("q_i", "p_i") and r.part != OVERALL]
    if not rates:
        return
    rate = rates[0].measure
    ends = [end for r in rates for end in (r.value, r.low, r.high) if end]
    scale = (0.0, 1.0) if rate == "p_i" else (min(ends) * 0.95, max(ends) * 1.05)
    several = len({r.language for r in rates}) > 1
    several_parts = len({r.part for r in rates}) > 1
    panels = [
        Panel(f"{model}, {get_language_name(language)}" if several else model, draw_stereotypes(group, sides, scale))
        for (model, language), group in group_records(rates, "model", "language")
    ]
    caveat = (
        "Only comparisons between stereotypes are meaningful, because the masculine and the feminine word are not "
        "equally frequent. "
        if rate == "q_i"
        else ""
    )
    order = "In a model biased towards stereotypes, those about men are to the right of those about women. "
    if len({sides[r.group] for r in rates}) < 2:
        order = ""
    yield Figure(
        "stereotypes",
        f"The {count_stereotypes(rates)} stereotypes",
        f"{order}{caveat}The lines are 95% intervals{', one for each template' if several_parts else ''}.",
        tuple(panels),
        legend=(*SIDE_KEYS, *build_template_legend(r.part for r in rates)),
        wide=False,
        folded=len(panels) > MOST_PANELS,
    )


def count_stereotypes(records: Sequence[Record]) -> str:
    """Return the number of stereotypes as text; 16, the number in GEST, is written as the word "sixteen"."""
    groups = {r.group for r in records}
    return "sixteen" if len(groups) == len(STEREOTYPES) else str(len(groups))


FIGURE = ReportFigure("stereotypes", draw_stereotype_figure, order=80)
