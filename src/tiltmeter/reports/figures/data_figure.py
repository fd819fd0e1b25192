"""A figure of a data set: how many items there are of each kind, and how many about each subject."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from tiltmeter.datasets.dataset_statistics import PortionStatistics
from tiltmeter.reports.figures.figure import Figure, Panel
from tiltmeter.reports.language_names import get_language_name

# Bars in a panel: the most frequent subjects.
_MOST = 25


def build_data_figure(name: str, described: Sequence[PortionStatistics]) -> Figure:
    """Bars of the number of items, a panel for each grouping and one for the subjects, in all parts and languages."""
    counts: dict[str, list[tuple[str, str, int]]] = {}
    for one in described:
        where = " ".join(filter(None, (one.part, get_language_name(one.language))))
        groupings = {**one.groups, **({one.subject: one.per_subject} if one.subject else {})}
        for grouping, found in groupings.items():
            counts.setdefault(grouping, []).extend((value, where, count) for value, count in found.items())
    panels = [Panel(grouping.replace("_", " "), _draw_bars(rows)) for grouping, rows in counts.items() if rows]
    caption = f"Number of items in {name}"
    cut = [grouping for grouping, rows in counts.items() if len({value for value, _, _ in rows}) > _MOST]
    caption += f"; of {', '.join(cut)} the {_MOST} most frequent" if cut else ""
    return Figure("items", f"Items of {name}", f"{caption}.", tuple(panels))


def _draw_bars(rows: Sequence[tuple[str, str, int]]) -> alt.Chart:
    frame = pd.DataFrame(rows, columns=["value", "where", "items"])
    largest = frame.groupby("value")["items"].sum().sort_values(ascending=False).index[:_MOST].tolist()
    chart: alt.Chart = alt.Chart(frame[frame["value"].isin(largest)]).mark_bar()
    encoded: alt.Chart = chart.encode(
        y=alt.Y("value:N", sort=largest, title=None, axis=alt.Axis(labelLimit=180)),
        x=alt.X("items:Q", title="items"),
        color=alt.Color("where:N", title=None),
        tooltip=["value", "where", "items"],
    )
    return encoded
