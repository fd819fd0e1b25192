"""The figure of predictive validity: g_s on WinoBias against g_s on GEST, with a point for each model."""

from collections.abc import Iterator, Mapping, Sequence

import altair as alt
import pandas as pd

from tiltmeter.errors import DataError
from tiltmeter.measures.records import Record
from tiltmeter.measures.winobias import COMPARED, compute_validity, pair_validity_records
from tiltmeter.reports.figures.chart_elements import (
    Domain,
    build_model_colour,
    build_model_legend,
    build_point,
    build_tooltips,
    draw_error_bars,
    format_panel_title,
)
from tiltmeter.reports.figures.figure import Chart, Figure, Panel
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure
from tiltmeter.reports.grouping import group_by


def draw_validity_map(pairs: Mapping[str, tuple[Record, Record]], models: Domain) -> Chart:
    """Return a chart with a point and error bars for each model. On both (logarithmic) axes, 1 means no bias.

    `pairs` maps the name of a model to its records on GEST and on WinoBias.
    """
    points = pd.DataFrame(
        [
            {"model": model, **build_point("gest", gest), **build_point("winobias", winobias)}
            for model, (gest, winobias) in pairs.items()
        ]
    )
    x = _build_axis(alt.X, "gest", "g_s on GEST →", points)
    y = _build_axis(alt.Y, "winobias", "g_s on WinoBias →", points)
    base = alt.Chart(points).encode(
        color=build_model_colour(models),
        tooltip=build_tooltips(("model", "model"), ("text_gest", "g_s on GEST"), ("text_winobias", "g_s on WinoBias")),
    )
    unbiased = pd.DataFrame({"gest": [1.0], "winobias": [1.0]})
    return alt.layer(
        alt.Chart(unbiased).mark_rule(style="ideal").encode(x=x),
        alt.Chart(unbiased).mark_rule(style="ideal").encode(y=y),
        *draw_error_bars(base, "gest", "winobias"),
        base.mark_point(filled=True, size=80, opacity=1).encode(x, y),
    ).properties(height=380)


def _build_axis(channel: type[alt.X] | type[alt.Y], name: str, title: str, points: pd.DataFrame) -> alt.X | alt.Y:
    ends = [float(end) for column in (f"{name}_low", f"{name}_high") for end in points[column]]
    low, high = min(1.0, *ends), max(1.0, *ends)
    scale = alt.Scale(domain=(low / 1.05, high * 1.05), nice=False, type="log")
    axis = alt.Axis(values=[0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8, 16, 32], labelOverlap=True)
    return channel(f"{name}:Q", title=title, scale=scale, axis=axis)


def draw_validity_figure(data: FigureData) -> Iterator[Figure]:
    """Yield the figure if several models were measured on GEST and WinoBias (Pikuliak et al. 2024, Figure 8)."""
    records = [*data.records, *(r for r in data.other_records if r.part == COMPARED)]
    # Numbers of different kinds of models are not comparable, so each kind has its own panel.
    by_panel = group_by(records, lambda r: (r.kind or "unknown kind",))
    points = {key: pair_validity_records(panel) for key, panel in by_panel.items()}
    points = {key: pairs for key, pairs in points.items() if len(pairs) > 1}
    if not points:
        return
    sentences = [_describe_correlation(key[0], by_panel[key], len(points) > 1) for key in points]
    yield Figure(
        "validity",
        "GEST against WinoBias",
        "g_s of GEST (the mean over templates) and of WinoBias "
        f"({COMPARED}), with 95% intervals; the dotted lines are no bias. If g_s measures a property of models, models "
        f"with a higher g_s on GEST have a higher g_s on WinoBias. {' '.join(sentences)}",
        tuple(
            Panel(format_panel_title(key, list(points)), draw_validity_map(pairs, data.models))
            for key, pairs in points.items()
        ),
        legend=build_model_legend(data.models, (model for pairs in points.values() for model in pairs)),
    )


def _describe_correlation(kind: str, records: Sequence[Record], several: bool) -> str:
    """Return a sentence with the correlation over the models, or with the reason why it is missing.

    The sentence names the kind of the models if `several` is true.
    """
    name = f" ({kind})" if several else ""
    try:
        validity = compute_validity(records)
    except DataError:
        return f"Fewer than four models{name}: too few for a correlation."
    ends = f"[{validity.low:.2f}, {validity.high:.2f}]"
    return f"Over {len(validity.models)} models{name} Pearson's r is {validity.correlation:.2f} {ends}."


FIGURE = ReportFigure("validity", draw_validity_figure, order=95)
