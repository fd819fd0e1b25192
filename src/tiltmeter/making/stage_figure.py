"""Plot the open problems after each step of a project.

This function has its own module, because importing altair and pandas is slow.
"""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from tiltmeter.errors import UsageError
from tiltmeter.making.project_status import StageCounts
from tiltmeter.reports.figure_style import SERIES
from tiltmeter.reports.figures.figure import Figure, Panel

_MAX_SUBJECTS = 20


def plot_stages(
    stages: Sequence[StageCounts], reason: str | None = None, *, max_subjects: int | None = _MAX_SUBJECTS
) -> Figure:
    """Plot the number of items with open problems for each subject after each step, with a panel for each part.

    If `reason` is given, only problems with this reason are counted. Repair steps that changed no count are left out.
    `max_subjects` is the maximum number of subjects in a panel (None: all).
    """
    stages = _leave_out_unchanged(stages, reason)
    rows = [
        {"stage": stage.name, "part": part, "subject": subject, "items": items}
        for stage in stages
        for (part, why, subject), items in stage.counts.items()
        if reason in (None, why)
    ]
    if not rows:
        reasons = sorted({why for stage in stages for _, why, _ in stage.counts})
        about = f" with the reason {reason!r}" if reason else ""
        raise UsageError(
            f"There are no items with open problems{about} to plot; the reasons of open problems are: "
            f"{', '.join(reasons) or 'none'}."
        )
    frame = pd.DataFrame(rows, columns=["stage", "part", "subject", "items"])
    names = [stage.name for stage in stages]
    parts = sorted(frame["part"].unique()) or [""]
    return Figure(
        slug="open-by-stage",
        title="Open problems by subject after each step",
        caption=(
            f"Number of items with open problems{f' with the reason {reason}' if reason else ''}"
            f"{f', for at most {max_subjects} subjects with the most items' if max_subjects else ''}. "
            "Repair steps that changed no number are left out."
        ),
        panels=tuple(Panel(part, _plot_bars(frame[frame["part"] == part], names, max_subjects)) for part in parts),
    )


def _leave_out_unchanged(stages: Sequence[StageCounts], reason: str | None) -> list[StageCounts]:
    kept: list[StageCounts] = []
    before: dict[tuple[str, str, str], int] | None = None
    for number, stage in enumerate(stages):
        counts = {key: items for key, items in stage.counts.items() if reason in (None, key[1])}
        # The stage after a run of `repair` repeats the stage of its last repair step.
        repeats = number > 0 and stages[number - 1].is_detail and not stage.is_detail
        if counts != before or not (stage.is_detail or repeats):
            kept.append(stage)
        before = counts
    return kept


def _plot_bars(frame: pd.DataFrame, stages: list[str], max_subjects: int | None) -> alt.Chart:
    most = (
        frame.groupby(["stage", "subject"])["items"]
        .sum()
        .groupby("subject")
        .max()
        .sort_values(ascending=False)
        .index[:max_subjects]
    )
    scale = alt.Scale(domain=stages, range=SERIES[: len(stages)])
    if len(stages) > len(SERIES):
        scale = alt.Scale(domain=stages, scheme="viridis")
    largest = int(frame.groupby(["stage", "subject"])["items"].sum().max())
    # Few items: Vega would repeat labels, because it rounds the ticks between two whole numbers.
    whole = alt.Axis(format="d", values=list(range(largest + 1))) if largest < 10 else alt.Axis(format="d")
    chart: alt.Chart = (
        alt.Chart(frame[frame["subject"].isin(most)])
        .mark_bar()
        .encode(
            x=alt.X("sum(items):Q", title="items with open problems", axis=whole),
            y=alt.Y("subject:N", sort=list(most), title=None),
            yOffset=alt.YOffset("stage:N", sort=stages),
            color=alt.Color("stage:N", sort=stages, scale=scale, legend=alt.Legend() if len(stages) > 1 else None),
        )
        .properties(height=alt.Step(8 * len(stages) + 8, **{"for": "position"}))
    )
    return chart
