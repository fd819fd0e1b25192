"""Shared by the figures: colours of models, legends, tooltips and data frames of records."""

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.figure import LegendEntry
from tiltmeter.reports.formatting import format_four_digits, format_with_interval
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.style import SERIES, SHAPES

Domain = Sequence[str]
MOST_PANELS = 12  # a figure with more is collapsed


# The room that a name takes beside its point, as shares of the width and height of a chart.
_LABEL_WIDTH, _LABEL_HEIGHT = 0.04, 0.04


def build_table(records: Iterable[Record], **more: Any) -> pd.DataFrame:
    """A data frame of records for a chart; `text` is the value with its interval, for tooltips."""
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
                **{name: make(r) for name, make in more.items()},
            }
            for r in records
        ]
    )


def build_model_colour(models: Domain) -> alt.Color:
    """The colour of each model, the same in all figures of a report; without a legend if there is one model."""
    colours = [SERIES[index % len(SERIES)] for index in range(len(models))]
    scale = alt.Scale(domain=list(models), range=colours)
    legend = alt.Legend(title=None, symbolType="circle") if len(models) > 1 else None
    return alt.Color("model:N", scale=scale, legend=legend)


def build_model_legend(models: Domain, present: Iterable[str]) -> tuple[LegendEntry, ...]:
    """The legend of the models that a figure shows; empty if the report has one model."""
    shown = set(present)
    keys = [LegendEntry(model, SERIES[at % len(SERIES)]) for at, model in enumerate(models) if model in shown]
    return tuple(keys) if len(models) > 1 else ()


def build_language_legend(languages: Domain) -> tuple[LegendEntry, ...]:
    """The legend of the shapes of languages; empty if there is one language."""
    keys = [LegendEntry(name, shape=SHAPES[at % len(SHAPES)]) for at, name in enumerate(languages)]
    return tuple(keys) if len(languages) > 1 else ()


def hide_overlapping_names(names: Iterable[str], across: Iterable[float], up: Iterable[float]) -> list[str]:
    """The names beside points, empty where one would be written over another; hovering over a point tells all.

    `across` and `up` are the positions of the points as shares of the width and height of the chart.

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
    """The tooltip of a mark: fields with their titles."""
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in fields]


def list_distinct(values: Iterable[str]) -> list[str]:
    """The distinct values in order of first occurrence."""
    return list(dict.fromkeys(values))


def get_comparison_key(record: Record) -> tuple[str, str, str]:
    """What comparable numbers share: kind of model, family of answers, protocol."""
    return record.kind or "unknown kind", record.family or "", record.protocol


def format_panel_title(key: tuple[str, ...], keys: Sequence[tuple[str, ...]]) -> str:
    """The values that distinguish a panel: of part, kind of model, family of answers, protocol."""
    different = [len(set(values)) > 1 for values in zip(*keys, strict=True)]
    return ", ".join(value for value, differs in zip(key, different, strict=True) if differs and value)
