"""The figure of a measure by language: the mean of each language with its interval, and a point for each model."""

import altair as alt
import pandas as pd

from tiltmeter.comparing.language_comparison import LanguageAnalysis
from tiltmeter.reports.display_text import format_label
from tiltmeter.reports.figure_style import SERIES, SHAPES
from tiltmeter.reports.figures.chart_elements import build_tooltips
from tiltmeter.reports.figures.figure import Figure, LegendEntry, Panel
from tiltmeter.reports.language_names import get_language_name

_KNOWN_KINDS = ("masked", "causal", "seq2seq")


def build_language_map(slug: str, title: str, analysis: LanguageAnalysis) -> Figure:
    """Return the figure of one measure; the languages are sorted by their means."""
    measure = analysis.quantity.measure
    ordered = sorted(analysis.these.means, key=lambda mean: -mean.value)
    names = [get_language_name(mean.language) for mean in ordered]
    kinds = [kind for kind in _KNOWN_KINDS if any(cell.kind == kind for cell in analysis.cells)]
    y = alt.Y("language:N", title=None, sort=names)
    x = alt.X("value:Q", title=measure.axis or measure.name, scale=alt.Scale(zero=False, nice=True))
    means = alt.Chart(_build_means_frame(analysis)).encode(
        y=y, tooltip=build_tooltips(("language", "language"), ("text", f"mean of {measure.name}"), ("models", "models"))
    )
    points = alt.Chart(_build_points_frame(analysis)).encode(
        y=y, tooltip=build_tooltips(("model", "model"), ("language", "language"), ("text", measure.name))
    )
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=list(SERIES[: len(kinds)])), legend=None)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=list(SHAPES[: len(kinds)])), legend=None)
    layers: list[alt.Chart] = [
        points.mark_point(filled=True, size=45, opacity=0.55).encode(x=x, color=colour, shape=shape),
        means.mark_rule(strokeWidth=3, opacity=0.85).encode(x=alt.X("low:Q"), x2="high:Q"),
        means.mark_tick(thickness=4, size=22).encode(x=x),
    ]
    if measure.ideal is not None:
        layers.insert(0, alt.Chart(pd.DataFrame({"value": [measure.ideal]})).mark_rule(style="ideal").encode(x=x))
    chart = alt.layer(*layers).properties(height=60 + 44 * len(names))
    legend = tuple(LegendEntry(kind, SERIES[at], SHAPES[at]) for at, kind in enumerate(kinds) if len(kinds) > 1)
    return Figure(slug, title, _describe_figure(kinds), (Panel("", chart),), legend)


def _describe_figure(kinds: list[str]) -> str:
    text = (
        "A tick for the mean of each language, with the 95% interval for these models on items like these; a point for "
        "each model."
    )
    return f"{text} Colours and shapes are kinds of models: {', '.join(kinds)}." if len(kinds) > 1 else text


def _build_means_frame(analysis: LanguageAnalysis) -> pd.DataFrame:
    number = analysis.quantity.measure.number
    return pd.DataFrame(
        [
            {
                "language": get_language_name(mean.language),
                "value": mean.value,
                "low": mean.low,
                "high": mean.high,
                "models": str(mean.models),
                "text": f"{number(mean.value)} [{number(mean.low)}, {number(mean.high)}]",
            }
            for mean in analysis.these.means
        ]
    )


def _build_points_frame(analysis: LanguageAnalysis) -> pd.DataFrame:
    number = analysis.quantity.measure.number
    return pd.DataFrame(
        [
            {
                "language": get_language_name(cell.language),
                "model": format_label(cell.model),
                "kind": cell.kind or "",
                "value": cell.value,
                "text": f"{number(cell.value)} [{number(cell.low)}, {number(cell.high)}]",
            }
            for cell in analysis.cells
        ]
    )
