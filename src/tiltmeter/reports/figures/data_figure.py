"""The figure of a data set: bar charts of the number of items in each group and for each subject (such as a target)."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from tiltmeter.datasets.dataset_statistics import PortionStatistics
from tiltmeter.reports.figures.figure import Figure, Panel
from tiltmeter.reports.language_names import get_language_name

_MAX_BARS = 25  # maximum number of bars in a panel; only the most frequent values are drawn


def build_data_figure(name: str, portions: Sequence[PortionStatistics]) -> Figure:
    """Return a figure with the number of items as bar charts: a panel for each grouping, and one for the subjects."""
    counts: dict[str, list[tuple[str, str, int]]] = {}
    for portion in portions:
        place = " ".join(filter(None, (portion.part, get_language_name(portion.language))))
        groupings = {**portion.groups, **({portion.subject: portion.per_subject} if portion.subject else {})}
        for grouping, numbers in groupings.items():
            counts.setdefault(grouping, []).extend((value, place, count) for value, count in numbers.items())
    panels = [Panel(grouping.replace("_", " "), _draw_bars(rows)) for grouping, rows in counts.items() if rows]
    caption = f"Number of items in {name}"
    cut = [grouping for grouping, rows in counts.items() if len({value for value, _, _ in rows}) > _MAX_BARS]
    caption += f"; only the {_MAX_BARS} most frequent values of {', '.join(cut)}" if cut else ""
    return Figure("items", f"Items of {name}", f"{caption}.", tuple(panels))


def _draw_bars(rows: Sequence[tuple[str, str, int]]) -> alt.Chart:
    frame = pd.DataFrame(rows, columns=["value", "where", "items"])
    largest = frame.groupby("value")["items"].sum().sort_values(ascending=False).index[:_MAX_BARS].tolist()
    chart: alt.Chart = alt.Chart(frame[frame["value"].isin(largest)]).mark_bar()
    encoded: alt.Chart = chart.encode(
        y=alt.Y("value:N", sort=largest, title=None, axis=alt.Axis(labelLimit=180)),
        x=alt.X("items:Q", title="items"),
        color=alt.Color("where:N", title=None),
        tooltip=["value", "where", "items"],
    )
    return encoded
