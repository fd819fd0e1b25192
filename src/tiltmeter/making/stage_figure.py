"""The figure of a project's state: what was open after each step.

Apart from the counts, since altair and pandas take seconds to import.
"""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from tiltmeter.errors import UsageError
from tiltmeter.making.project_status import StageCounts
from tiltmeter.reports.figures.figure import Figure, Panel
from tiltmeter.reports.style import SERIES

# Subjects with the most open problems.
_SHOWN = 20


def plot_stages(stages: Sequence[StageCounts], reason: str | None = None) -> Figure:
    """Open items by subject after each step, a panel for each part; of one reason, or of all."""
    rows = [
        {"stage": stage.name, "part": part, "subject": subject, "items": items}
        for stage in stages
        for (part, why, subject), items in stage.counts.items()
        if reason in (None, why)
    ]
    if not rows:
        reasons = sorted({why for stage in stages for _, why, _ in stage.counts})
        about = f" for the reason {reason!r}" if reason else ""
        raise UsageError(f"Nothing was open{about}, so there is no figure; reasons are {', '.join(reasons) or 'none'}.")
    frame = pd.DataFrame(rows, columns=["stage", "part", "subject", "items"])
    names = [stage.name for stage in stages]
    parts = sorted(frame["part"].unique()) or [""]
    return Figure(
        slug="open-by-stage",
        title="Open problems by subject after each step",
        caption=f"Items{f' with {reason}' if reason else ''}; the {_SHOWN} subjects with the most.",
        panels=tuple(Panel(part, _plot_bars(frame[frame["part"] == part], names)) for part in parts),
    )


def _plot_bars(frame: pd.DataFrame, stages: list[str]) -> alt.Chart:
    most = (
        frame.groupby(["stage", "subject"])["items"]
        .sum()
        .groupby("subject")
        .max()
        .sort_values(ascending=False)
        .index[:_SHOWN]
    )
    chart: alt.Chart = (
        alt.Chart(frame[frame["subject"].isin(most)])
        .mark_bar()
        .encode(
            x=alt.X("sum(items):Q", title="open items", axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("subject:N", sort=list(most), title=None),
            yOffset=alt.YOffset("stage:N", sort=stages),
            color=alt.Color("stage:N", sort=stages, scale=alt.Scale(domain=stages, range=SERIES[: len(stages)])),
        )
        .properties(height=alt.Step(8 * len(stages) + 8, **{"for": "position"}))
    )
    return chart
