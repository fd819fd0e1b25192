"""g_s of each model in each template that quotes GEST's sentences."""

from collections.abc import Iterable, Sequence

import altair as alt
import pandas as pd

from tiltmeter.benchmarks.gest import TEMPLATES
from tiltmeter.measures import get_measure
from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.chart_elements import (
    Domain,
    build_model_colour,
    build_table,
    build_tooltips,
    list_distinct,
)
from tiltmeter.reports.figures.figure import Chart, LegendEntry
from tiltmeter.reports.style import SHAPES

_LANE = 14  # pixels for each interval
_GAP = 14  # pixels between models


def build_template_legend(parts: Iterable[str]) -> tuple[LegendEntry, ...]:
    """The legend of the shapes of templates, if there are several."""
    present = set(parts)
    if len(present) < 2:
        return ()
    return tuple(
        LegendEntry(_format_wording(part), shape=shape) for part, shape in _map_shapes().items() if part in present
    )


def draw_template_rates(records: Sequence[Record], models: Domain, scale: tuple[float, float]) -> Chart:
    """A row for each model, with the interval of g_s in each template; the shapes are those of the templates."""
    measure = get_measure(records[0].measure)
    frame = build_table(records, template=lambda r: _format_wording(r.part))
    parts = [part for part in TEMPLATES if part in set(frame["part"])]
    x_scale = alt.Scale(domain=scale, nice=False, type="log")
    axis = alt.Axis(values=[0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8], labelOverlap=True)
    x = alt.X("value:Q", scale=x_scale, title=measure.name, axis=axis)
    base = alt.Chart(frame).encode(
        y=alt.Y("model:N", sort=list_distinct(frame["model"]), title=None, axis=alt.Axis(labelLimit=130)),
        yOffset=alt.YOffset("part:N", sort=parts),
        color=build_model_colour(models),
        tooltip=build_tooltips(("model", "model"), ("template", "template"), ("text", measure.name), ("n", "n")),
    )
    return alt.layer(
        alt.Chart(pd.DataFrame({"value": [measure.ideal]})).mark_rule(style="ideal").encode(x=x),
        base.mark_rule(strokeWidth=2, opacity=0.75, clip=True).encode(
            x=alt.X("low:Q", scale=x_scale, title=measure.name, axis=axis), x2="high:Q"
        ),
        base.mark_point(filled=True, size=60, opacity=1, clip=True).encode(x=x, shape=build_template_shape(parts)),
    ).properties(height=alt.Step(_LANE * len(parts) + _GAP, **{"for": "position"}))


def build_template_shape(parts: Sequence[str]) -> alt.Shape:
    """The shapes of templates; circles for other parts."""
    shapes = [_map_shapes().get(part, "circle") for part in parts]
    return alt.Shape("part:N", scale=alt.Scale(domain=list(parts), range=shapes), legend=alt.Legend(title=None))


def _map_shapes() -> dict[str, str]:
    return dict(zip(TEMPLATES, SHAPES, strict=False))


def _format_wording(part: str) -> str:
    """The template with the masculine word.

    >>> _format_wording("template-4")
    '"…", the man said.'
    """
    return TEMPLATES[part].fill("…", TEMPLATES[part].male)
