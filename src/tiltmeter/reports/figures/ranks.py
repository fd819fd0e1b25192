"""The figure of the feminine ranks of stereotypes (1 is the most feminine) over all models, languages and templates."""

from collections.abc import Iterator, Sequence

import altair as alt

from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.figures.chart_elements import build_table, build_tooltips, list_distinct
from tiltmeter.reports.figures.figure import Chart, Figure, Panel
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure
from tiltmeter.reports.figures.stereotypes import (
    SIDE_KEYS,
    StereotypeSides,
    build_side_colour,
    count_stereotypes,
    find_stereotype_sides,
)
from tiltmeter.reports.group_names import get_display_group


def draw_feminine_ranks(records: Sequence[Record], sides: StereotypeSides) -> Chart:
    """Draw a box plot of the ranks of each stereotype over models, languages and templates; each rank is a point."""
    frame = build_table(records, side=lambda r: sides[r.group], name=lambda r: get_display_group(r, "stereotype"))
    count = frame["name"].nunique()
    middle = frame.groupby("name", sort=False)["value"].median().sort_values(kind="stable")
    base = alt.Chart(frame).encode(
        y=alt.Y("name:N", sort=list_distinct(middle.index), title=None),
        x=alt.X(
            "value:Q",
            title="← feminine · rank · masculine →",
            scale=alt.Scale(domain=(0.5, count + 0.5), nice=False),
            axis=alt.Axis(values=[1, *range(4, count + 1, 4)] if count > 8 else list(range(1, count + 1))),
        ),
        color=build_side_colour(),
    )
    return alt.layer(
        base.mark_boxplot(size=14, extent="min-max", box={"fillOpacity": 0.25}, ticks=False, outliers=False),
        base.mark_point(filled=True, size=26, opacity=0.75).encode(
            tooltip=build_tooltips(
                ("name", "stereotype"), ("model", "model"), ("language", "language"), ("part", "part")
            )
        ),
    ).properties(height=alt.Step(25))


def draw_rank_figure(data: FigureData) -> Iterator[Figure]:
    """Yield the figure of the feminine ranks, if there are several models, parts or languages."""
    ranks = [r for r in data.records if r.measure == "feminine rank" and r.part != OVERALL]
    if len({(r.model, r.part, r.language) for r in ranks}) > 1:
        yield Figure(
            "feminine-ranks",
            "Feminine ranks",
            f"The rank of each stereotype among the {count_stereotypes(ranks)} stereotypes, from the most feminine to "
            "the most masculine, over all models, languages and templates. Boxes span the quartiles.",
            (Panel("", draw_feminine_ranks(ranks, find_stereotype_sides(data.scores))),),
            legend=SIDE_KEYS,
        )


FIGURE = ReportFigure("feminine-ranks", draw_rank_figure, order=90)
