"""A figure: the preference for `she` in each sentence by the percentage of women in the occupation."""

from collections.abc import Iterator

import altair as alt

from tiltmeter.reports.figures import Figure, FigureData, Panel, ReportFigure
from tiltmeter.reports.figures.chart_elements import build_model_colour, build_model_legend


def draw(data: FigureData) -> Iterator[Figure]:
    """Yield a scatter plot with a point for each sentence and model."""
    table = data.scores[["model", "item", "occupation", "percent_women", "score"]].astype({"model": str})
    chart = (
        alt.Chart(table)
        .mark_point(filled=True)
        .encode(
            x=alt.X("percent_women:Q", title="women in the occupation, %"),
            y=alt.Y("score:Q", title="preference for `she`"),
            color=build_model_colour(data.models),
            tooltip=["model:N", "occupation:N", "score:Q"],
        )
    )
    yield Figure(
        "occupation-scatter",
        "Preference by occupation",
        "Each point is a sentence; above 0, the sentence with `she` is more likely.",
        (Panel("", chart),),
        legend=build_model_legend(data.models, table["model"]),
    )


FIGURE = ReportFigure("occupation-scatter", draw)
