"""Figures with a title, a caption and one or more charts."""

from dataclasses import dataclass
from typing import Any

import altair as alt

from tiltmeter.reports.style import PAGE, PAPER, build_config

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of a figure; the title is empty if it is the only one."""

    title: str
    chart: Chart


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One entry of a legend. In pages the legend is outside the charts, because it belongs to all panels."""

    label: str
    colour: str = ""
    shape: str = "circle"


@dataclass(frozen=True, slots=True)
class Figure:
    """One or more charts with a title and a caption. `slug` is its name in links and files."""

    slug: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    legend: tuple[LegendEntry, ...] = ()
    wide: bool = True  # whether each chart has the whole width of the page
    folded: bool = False  # whether the figure is collapsed in a page

    def build_specs(self) -> list[dict[str, Any]]:
        """Return the Vega-Lite specification of each panel for a page, as wide as its container."""
        return [
            {
                **_without_legends(panel.chart.properties(width="container").to_dict()),
                "config": build_config(PAGE),
                "autosize": {"type": "fit-x", "contains": "padding"},
            }
            for panel in self.panels
        ]

    def paper(self) -> dict[str, Any]:
        """Return the Vega-Lite specification of the whole figure for a file."""
        width = 560 if self.wide or len(self.panels) == 1 else 330
        charts = [
            panel.chart.properties(width=width, **({"title": panel.title} if panel.title else {}))
            for panel in self.panels
        ]
        chart = charts[0] if len(charts) == 1 else alt.concat(*charts, columns=1 if self.wide else 2)
        if len(charts) > 1:
            chart = chart.resolve_scale(x="independent", y="independent", yOffset="independent")
        return {**chart.to_dict(), "config": build_config(PAPER)}


def _without_legends(spec: Any) -> Any:
    """Return the specification without legends; disabling them in the configuration is not enough."""
    if isinstance(spec, list):
        return [_without_legends(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    # Data sets are not changed, because they may have a column of that name.
    return {k: v if k == "datasets" else None if k == "legend" else _without_legends(v) for k, v in spec.items()}
