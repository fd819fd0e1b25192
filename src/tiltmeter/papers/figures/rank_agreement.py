"""The order of stereotypes in translation systems, English models and Slavic models (GEST, sections 4.3.3 and 5.1)."""

from collections.abc import Sequence
from itertools import combinations
from statistics import correlation, fmean

import altair as alt
import pandas as pd

from tiltmeter.forms.gest import STEREOTYPES
from tiltmeter.papers.figures.point_labels import WIDTH, PointScale, draw_names
from tiltmeter.papers.figures.rate_charts import SIDE, name_side
from tiltmeter.papers.figures.rate_rows import RateRow, group_by_source
from tiltmeter.reports.figures.figure import Panel

_ACROSS, _UP = (PointScale(1.0, float(len(STEREOTYPES)), length) for length in (WIDTH, 300))
_EXPERIMENTS = {
    "translation systems": ("8",),
    "English models": ("9", "10"),
    "Slavic XLM models": ("11",),
}


def compute_mean_ranks(rows: Sequence[RateRow]) -> dict[str, dict[int, float]]:
    """Return the mean feminine rank of each stereotype in each experiment; of Slavic models only the XLM models."""
    ranks = {
        name: [row.rank_stereotypes() for row in rows if row.table in tables and (row.table != "11" or row.is_xlm)]
        for name, tables in _EXPERIMENTS.items()
    }
    return {
        name: {number: fmean(row[number] for row in found) for number in STEREOTYPES}
        for name, found in ranks.items()
        if found
    }


def draw_agreement(rows: Sequence[RateRow]) -> list[Panel]:
    """Return a panel for each pair of experiments, with the correlation of the mean ranks in its title."""
    panels = []
    for source, group in group_by_source(rows).items():
        for (first, ours), (second, theirs) in combinations(compute_mean_ranks(group).items(), 2):
            frame = pd.DataFrame(
                {
                    "x": list(ours.values()),
                    "y": list(theirs.values()),
                    "name": [f"#{number}" for number in ours],
                    "side": [name_side(number) for number in ours],
                }
            )
            r = correlation(frame["x"].tolist(), frame["y"].tolist())
            x = alt.X("x:Q", title=f"mean rank, {first}", scale=_ACROSS.build_scale())
            y = alt.Y("y:Q", title=f"mean rank, {second}", scale=_UP.build_scale())
            chart = alt.layer(
                alt.Chart(frame).mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=SIDE),
                *draw_names(frame, x, y, (_ACROSS, _UP), "name"),
            )
            panels.append(Panel(f"{source}: r = {r:.2f}", chart.properties(height=_UP.length)))
    return panels
