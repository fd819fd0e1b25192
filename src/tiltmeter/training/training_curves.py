"""Figures of a training: loss, accuracy, both learning rates, and the use, memory and power of the GPU."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import pandas as pd
import vl_convert

from tiltmeter.errors import DataError, UsageError
from tiltmeter.reports.figure_style import SERIES
from tiltmeter.reports.figures.figure import Figure, Panel
from tiltmeter.text_files import read_json_object

Log = Sequence[Mapping[str, float]]

# The title of each chart, and a dictionary from the names of its logged values to the labels of their lines.
_CHARTS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "loss": ("Loss", {"loss": "training", "eval_loss": "validation"}),
    "accuracy": ("Accuracy (%)", {"accuracy": "training", "eval_accuracy": "validation"}),
    "model rate": ("Learning rate of the model", {"learning_rate": "model"}),
    "head rate": ("Learning rate of the head", {"head_learning_rate": "head"}),
    "use": ("Use of the GPU (%)", {"gpu_use": "GPU"}),
    "memory": ("Memory of the GPU (%)", {"gpu_memory": "GPU"}),
    "power": ("Power of the GPU (% of its limit)", {"gpu_power": "GPU"}),
}
ALL_CHARTS = tuple(_CHARTS)
_HEIGHT = 150


@dataclass(frozen=True, slots=True)
class CurveView:
    """The charts that are drawn. `smoothing` is the weight of the past in a moving average, from 0 to below 1.

    Losses above `loss_below` are cut off, to show the end of a training.
    """

    charts: tuple[str, ...] = ALL_CHARTS
    smoothing: float = 0.0
    loss_below: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise UsageError(f"The smoothing is {self.smoothing:g}; it must be at least 0 and below 1, such as 0.92.")
        if self.loss_below is not None and self.loss_below <= 0:
            raise UsageError(f"The highest loss is {self.loss_below:g}; it must be above 0.")


def read_log(head: Path) -> Log:
    """Return the log entries in the file training.json of a head."""
    log = read_json_object(head / "training.json").get("log")
    if not log:
        raise DataError(f"{head / 'training.json'} has no log; only heads that Tiltmeter trained have one.")
    return list(log)


def render_curves(log: Log) -> str:
    """Return the curves as an SVG image; `log` contains the log entries of the training."""
    spec = build_curves(log, CurveView(), "curves", "Training").build_combined_spec()
    return str(vl_convert.vegalite_to_svg(json.dumps(spec), allowed_base_urls=[]))


def build_curves(log: Log, view: CurveView, slug: str, title: str) -> Figure:
    """Return a figure with the charts of a view for which the log has values."""
    panels = [
        Panel(_CHARTS[name][0], _plot_chart(log, name, view))
        for name in view.charts
        if any(key in entry for entry in log for key in _CHARTS[name][1])
    ]
    if not panels:
        raise DataError(
            f"The log of the training has no values of: {', '.join(view.charts)}. The use of a GPU is recorded only "
            "for NVIDIA GPUs, and only if the extra energy is installed (pip install 'tiltmeter[energy]')."
        )
    return Figure(slug=slug, title=title, caption=_describe(view), panels=tuple(panels))


def smooth(values: Sequence[float], weight: float) -> list[float]:
    """Return the exponential moving average of values, corrected for its start at zero.

    >>> smooth([1.0, 1.0, 4.0], 0.5)
    [1.0, 1.0, 2.7142857142857144]
    """
    smoothed, last, share = [], 0.0, 0.0
    for value in values:
        last = weight * last + (1 - weight) * value
        share = weight * share + 1 - weight
        smoothed.append(last / share)
    return smoothed


def _describe(view: CurveView) -> str:
    parts = [f"smoothed by an exponential moving average with weight {view.smoothing:g}" if view.smoothing else ""]
    parts.append(f"losses above {view.loss_below:g} cut off" if view.loss_below is not None else "")
    return "; ".join(filter(None, parts))


def _plot_chart(log: Log, chart_name: str, view: CurveView) -> alt.Chart:
    lines = _CHARTS[chart_name][1]
    limit = view.loss_below if chart_name == "loss" else None
    rows: list[dict[str, object]] = []
    for name, line in lines.items():
        found = [entry for entry in log if name in entry]
        values = smooth([entry[name] for entry in found], view.smoothing)
        rows += [
            {"update": entry["step"], "value": value, "line": line} for entry, value in zip(found, values, strict=True)
        ]
    names = [line for line in lines.values() if any(row["line"] == line for row in rows)]
    legend = alt.Legend(title=None) if len(names) > 1 else None
    scale = alt.Scale(zero=False) if limit is None else alt.Scale(domain=[0, limit], clamp=False)
    chart: alt.Chart = (
        alt.Chart(pd.DataFrame(rows, columns=["update", "value", "line"]))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=alt.X("update:Q", title="updates"),
            y=alt.Y("value:Q", title=None, scale=scale),
            color=alt.Color("line:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), legend=legend),
        )
        .properties(height=_HEIGHT)
    )
    return chart
