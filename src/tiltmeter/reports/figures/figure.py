"""The figure class: one or more charts with a title, a caption and a legend."""

from dataclasses import dataclass
from typing import Any

import altair as alt

from tiltmeter.reports.figure_style import PAGE, PAPER, build_config

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of a figure; `title` is empty if the figure has only one chart."""

    title: str
    chart: Chart


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One entry of a legend. On pages, the legend is outside the charts, because all panels of a figure share it."""

    label: str
    colour: str = ""
    shape: str = "circle"


@dataclass(frozen=True, slots=True)
class Figure:
    """One or more charts with a title and a caption. `slug` is the name of the figure in links and file names."""

    slug: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    legend: tuple[LegendEntry, ...] = ()
    wide: bool = True  # whether each chart is as wide as the page
    folded: bool = False  # whether the figure is collapsed on the page until the reader opens it

    def build_specs(self) -> list[dict[str, Any]]:
        """Return a Vega-Lite specification for each panel, for a page; each chart is as wide as its HTML container."""
        return [
            {
                **_remove_legends(panel.chart.properties(width="container").to_dict()),
                "config": build_config(PAGE),
                "autosize": {"type": "fit-x", "contains": "padding"},
            }
            for panel in self.panels
        ]

    def build_combined_spec(self) -> dict[str, Any]:
        """Return one Vega-Lite specification of the whole figure, for an image file."""
        width = 560 if self.wide or len(self.panels) == 1 else 330
        charts = [
            panel.chart.properties(width=width, **({"title": panel.title} if panel.title else {}))
            for panel in self.panels
        ]
        chart = charts[0] if len(charts) == 1 else alt.concat(*charts, columns=1 if self.wide else 2)
        if len(charts) > 1:
            chart = chart.resolve_scale(x="independent", y="independent", yOffset="independent")
        return {**chart.to_dict(), "config": build_config(PAPER)}


def _remove_legends(spec: Any) -> Any:
    """Return the chart specification without legends; the Vega-Lite configuration alone cannot disable all legends."""
    if isinstance(spec, list):
        return [_remove_legends(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    # The data are not changed, because one of their columns may have the name "legend".
    return {k: v if k == "datasets" else None if k == "legend" else _remove_legends(v) for k, v in spec.items()}
