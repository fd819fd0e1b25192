"""The figure of g_s (GEST's stereotype rate) by template: the value of each model for each template."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import altair as alt

from tiltmeter.benchmarks.gest import TEMPLATES
from tiltmeter.measures import get_measure
from tiltmeter.measures.records import Record
from tiltmeter.reports.figure_style import SHAPES
from tiltmeter.reports.figures.chart_elements import (
    Domain,
    build_model_colour,
    build_table,
    build_tooltips,
    draw_intervals,
    format_panel_title,
    get_comparison_key,
    list_distinct,
)
from tiltmeter.reports.figures.figure import Chart, Figure, LegendEntry, Panel
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.language_names import get_language_name

_LANE = 14  # pixels for each interval
_GAP = 14  # pixels between models


def build_template_legend(parts: Iterable[str]) -> tuple[LegendEntry, ...]:
    """Return the legend that explains the point shape of each template; empty if there is only one template."""
    present = set(parts)
    if len(present) < 2:
        return ()
    return tuple(
        LegendEntry(_format_wording(part), shape=shape) for part, shape in _map_shapes().items() if part in present
    )


def draw_template_rates(records: Sequence[Record], models: Domain, scale: tuple[float, float]) -> Chart:
    """Return a chart with a row for each model, and in the row the value and interval of g_s for each template."""
    measure = get_measure(records[0].measure)
    frame = build_table(records, template=lambda r: _format_wording(r.part))
    parts = [part for part in TEMPLATES if part in set(frame["part"])]
    x_scale = alt.Scale(domain=scale, nice=False, type="log")
    axis = alt.Axis(values=[0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8], labelOverlap=True)
    build_x = partial(alt.X, scale=x_scale, title=measure.name, axis=axis)
    base = alt.Chart(frame).encode(
        y=alt.Y("model:N", sort=list_distinct(frame["model"]), title=None, axis=alt.Axis(labelLimit=130)),
        yOffset=alt.YOffset("part:N", sort=parts),
        color=build_model_colour(models),
        tooltip=build_tooltips(("model", "model"), ("template", "template"), ("text", measure.name), ("n", "n")),
    )
    chart = draw_intervals(base, build_x, measure.ideal, shape=build_template_shape(parts))
    return chart.properties(height=alt.Step(_LANE * len(parts) + _GAP, **{"for": "position"}))


def build_template_shape(parts: Sequence[str]) -> alt.Shape:
    """Return the point shapes of the parts in a chart: one shape for each template, a circle for any other part."""
    shapes = [_map_shapes().get(part, "circle") for part in parts]
    return alt.Shape("part:N", scale=alt.Scale(domain=list(parts), range=shapes), legend=alt.Legend(title=None))


def _map_shapes() -> dict[str, str]:
    return dict(zip(TEMPLATES, SHAPES, strict=False))


def _format_wording(part: str) -> str:
    """Return the text of a template with its masculine word filled in.

    >>> _format_wording("template-4")
    '"…", the man said.'
    """
    return TEMPLATES[part].fill_in_sentence("…", TEMPLATES[part].male)


def draw_template_figure(data: FigureData) -> Iterator[Figure]:
    """Yield the figure of g_s by template if there are several templates (Pikuliak et al. 2024, Figures 9 and 10)."""
    rates = [r for r in data.records if r.measure == "g_s" and r.view == "all" and r.part in TEMPLATES]
    if len({r.part for r in rates}) < 2:
        return
    # Records whose numbers are not comparable are drawn in different panels.
    by_panel = group_by(rates, lambda r: (get_language_name(r.language), *get_comparison_key(r)))
    ends = [1.0, *(end for r in rates for end in (r.value, r.low, r.high) if end is not None)]
    yield Figure(
        "templates",
        "g_s by template",
        "The value of g_s with each template that quotes the sentences, with 95% intervals; the dotted line is no "
        "bias. In each template, the word for a man is compared with the word for a woman.",
        tuple(
            Panel(
                format_panel_title(key, list(by_panel)),
                draw_template_rates(panel, data.models, (min(ends) / 1.1, max(ends) * 1.05)),
            )
            for key, panel in by_panel.items()
        ),
        legend=build_template_legend(r.part for r in rates),
        wide=False,
    )


FIGURE = ReportFigure("templates", draw_template_figure, order=70)
