"""Parts of charts that several figures use: data frames, colours, legends, tooltips, intervals and error bars."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tiltmeter.measures.records import Record
from tiltmeter.reports.figure_style import SERIES, SHAPES
from tiltmeter.reports.figures.figure import LegendEntry
from tiltmeter.reports.formatting import format_four_digits, format_with_interval
from tiltmeter.reports.language_names import get_language_name

Domain = Sequence[str]
MOST_PANELS = 12  # a figure with more panels than this is collapsed on the page

# The width and height of the name next to a point, as shares of the width and height of the chart.
_LABEL_WIDTH, _LABEL_HEIGHT = 0.04, 0.04


def build_table(records: Iterable[Record], **more: Any) -> pd.DataFrame:
    """Return a data frame with a row for each record, for a chart.

    The column `text` is the value with its interval, for tooltips. `more` maps the names of additional columns to
    functions that compute a cell of the column from a record.
    """
    return pd.DataFrame(
        [
            {
                "model": r.model,
                "language": get_language_name(r.language),
                "code": r.language,
                "part": r.part,
                "group": r.group,
                "value": r.value,
                "low": r.low,
                "high": r.high,
                "n": r.n,
                "text": format_with_interval(r, format_four_digits),
                **{name: compute(r) for name, compute in more.items()},
            }
            for r in records
        ]
    )


def build_point(name: str, record: Record) -> dict[str, object]:
    """Return the data of a point: value, ends of the interval, and text of the tooltip; all keys contain `name`."""
    low, high = record.interval or (record.value, record.value)
    text = format_with_interval(record, format_four_digits)
    return {name: record.value, f"{name}_low": low, f"{name}_high": high, f"text_{name}": text}


def draw_error_bars(base: alt.Chart, x: str, y: str) -> list[alt.Chart]:
    """Return horizontal and vertical error bars; `x` and `y` are the names that were passed to `build_point`."""
    bars = base.mark_rule(strokeWidth=1.5, opacity=0.85)
    return [
        bars.encode(x=f"{x}_low:Q", x2=f"{x}_high:Q", y=f"{y}:Q"),
        bars.encode(x=f"{x}:Q", y=f"{y}_low:Q", y2=f"{y}_high:Q"),
    ]


def draw_intervals(
    base: alt.Chart, build_x: Callable[[str], alt.X], ideal: float | None, **more: Any
) -> alt.LayerChart | alt.FacetChart:
    """Return a chart with a line at the ideal value, the intervals, and the values as points.

    `build_x` builds the horizontal axis for a column of the data frame. `more` are additional encodings of the points.
    """
    return alt.layer(
        alt.Chart(pd.DataFrame({"value": [ideal]})).mark_rule(style="ideal").encode(x=build_x("value:Q")),
        base.mark_rule(strokeWidth=2, opacity=0.75, clip=True).encode(x=build_x("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1, clip=True).encode(x=build_x("value:Q"), **more),
    )


def build_model_colour(models: Domain) -> alt.Color:
    """Return the colours of models; a model has the same colour in all figures. With one model there is no legend."""
    colours = [SERIES[index % len(SERIES)] for index in range(len(models))]
    scale = alt.Scale(domain=list(models), range=colours)
    legend = alt.Legend(title=None, symbolType="circle") if len(models) > 1 else None
    return alt.Color("model:N", scale=scale, legend=legend)


def build_model_legend(models: Domain, present: Iterable[str]) -> tuple[LegendEntry, ...]:
    """Return the legend for the models in `present`; empty if the report has only one model."""
    drawn = set(present)
    keys = [LegendEntry(model, SERIES[at % len(SERIES)]) for at, model in enumerate(models) if model in drawn]
    return tuple(keys) if len(models) > 1 else ()


def build_language_legend(languages: Domain) -> tuple[LegendEntry, ...]:
    """Return the legend that explains the point shape of each language; empty if there is only one language."""
    keys = [LegendEntry(name, shape=SHAPES[at % len(SHAPES)]) for at, name in enumerate(languages)]
    return tuple(keys) if len(languages) > 1 else ()


def hide_overlapping_names(names: Iterable[str], across: Iterable[float], up: Iterable[float]) -> list[str]:
    """Return the names to draw next to points; a name that would overlap an earlier name is replaced by an empty text.

    `across` and `up` are the positions of the points as shares of the width and height of the chart. Tooltips still
    show every name.

    >>> hide_overlapping_names(["de", "fr", "tr"], [0.10, 0.11, 0.9], [0.20, 0.21, 0.2])
    ['de', '', 'tr']
    """
    kept: list[tuple[float, float]] = []
    shown = []
    for name, right, high in zip(names, across, up, strict=True):
        free = all(abs(right - other) > _LABEL_WIDTH or abs(high - above) > _LABEL_HEIGHT for other, above in kept)
        if free:
            kept.append((right, high))
        shown.append(name if free else "")
    return shown


def build_tooltips(*fields: tuple[str, str]) -> list[alt.Tooltip]:
    """Return the lines of a tooltip; `fields` are pairs of a column and its title."""
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in fields]


def list_distinct(values: Iterable[str]) -> list[str]:
    """Return the distinct values, in the order of their first occurrence."""
    return list(dict.fromkeys(values))


def get_comparison_key(record: Record) -> tuple[str, str, str]:
    """Return the kind of model, the answer type and the protocol; records with equal keys have comparable values."""
    return record.kind or "unknown kind", record.family or "", record.protocol


def format_panel_title(key: tuple[str, ...], keys: Sequence[tuple[str, ...]]) -> str:
    """Return the title of the panel with this key: the entries of `key` that are not the same in all `keys`."""
    different = [len(set(values)) > 1 for values in zip(*keys, strict=True)]
    return ", ".join(value for value, differs in zip(key, different, strict=True) if differs and value)
