"""What figures share: colours of models, and the tables they are drawn from."""

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.figure import Key
from tiltmeter.reports.languages import language_name
from tiltmeter.reports.style import SERIES, SHAPES

Domain = Sequence[str]


def table(records: Iterable[Record], **more: Any) -> pd.DataFrame:
    """What a chart needs of records, with their intervals put into words for whoever points at them."""
    return pd.DataFrame(
        [
            {
                "model": r.model,
                "language": language_name(r.language),
                "code": r.language,
                "part": r.part,
                "group": r.group,
                "value": r.value,
                "low": r.low,
                "high": r.high,
                "n": r.n,
                "said": said(r),
                **{name: make(r) for name, make in more.items()},
            }
            for r in records
        ]
    )


def said(record: Record) -> str:
    """The value with its interval.

    Four digits tell apart what anybody would tell apart.
    """
    interval = f" [{record.low:.4g}, {record.high:.4g}]" if record.low is not None else ""
    return f"{record.value:.4g}{interval}"


def model_colour(models: Domain) -> alt.Color:
    """The colour of each model, the same in every figure of a report; no legend for a single one."""
    colours = [SERIES[place % len(SERIES)] for place in range(len(models))]
    scale = alt.Scale(domain=list(models), range=colours)
    legend = alt.Legend(title=None, symbolType="circle") if len(models) > 1 else None
    return alt.Color("model:N", scale=scale, legend=legend)


def model_keys(models: Domain, there: Iterable[str]) -> tuple[Key, ...]:
    """The legend for the models that are there."""
    shown = set(there)
    keys = [Key(model, SERIES[at % len(SERIES)]) for at, model in enumerate(models) if model in shown]
    return tuple(keys) if len(models) > 1 else ()


def language_keys(languages: Domain) -> tuple[Key, ...]:
    """The legend for the shapes of languages."""
    keys = [Key(name, shape=SHAPES[at % len(SHAPES)]) for at, name in enumerate(languages)]
    return tuple(keys) if len(languages) > 1 else ()


def pointing(*fields: tuple[str, str]) -> list[alt.Tooltip]:
    """What is shown of a mark that is pointed at: fields with their names."""
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in fields]


def ordered(values: Iterable[str]) -> list[str]:
    """The values, each once, in the order in which they come."""
    return list(dict.fromkeys(values))
