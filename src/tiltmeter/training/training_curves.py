"""A figure of the loss, the accuracy and the learning rate during a training."""

import json
from collections.abc import Iterable, Mapping, Sequence

import altair as alt
import pandas as pd
import vl_convert

from tiltmeter.reports.figure_style import SERIES
from tiltmeter.reports.figures.figure import Figure, Panel

# The title of each chart, and a dictionary from the names of its logged values to the labels of their lines.
_PANELS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("Loss", {"loss": "training", "eval_loss": "validation"}),
    ("Accuracy (%)", {"accuracy": "training", "eval_accuracy": "validation"}),
    ("Learning rate", {"learning_rate": "training"}),
)
_HEIGHT = 150


def render_curves(log: Sequence[Mapping[str, float]]) -> str:
    """Return the curves as an SVG image; `log` contains the log entries of the training."""
    panels = [Panel(title, _plot_chart(log, lines)) for title, lines in _PANELS]
    figure = Figure(slug="curves", title="Training", caption="", panels=tuple(panels))
    return str(vl_convert.vegalite_to_svg(json.dumps(figure.build_combined_spec()), allowed_base_urls=[]))


def _plot_chart(log: Iterable[Mapping[str, float]], lines: Mapping[str, str]) -> alt.Chart:
    rows = [
        {"update": entry["step"], "value": entry[name], "line": line}
        for entry in log
        for name, line in lines.items()
        if name in entry
    ]
    names = list(lines.values())
    legend = alt.Legend(title=None) if len(names) > 1 else None
    chart: alt.Chart = (
        alt.Chart(pd.DataFrame(rows, columns=["update", "value", "line"]))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("update:Q", title="updates"),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
            color=alt.Color("line:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), legend=legend),
        )
        .properties(height=_HEIGHT)
    )
    return chart
