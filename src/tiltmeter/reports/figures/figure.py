"""What every figure is: a title, what it shows, and one or more charts."""

from dataclasses import dataclass
from typing import Any

import altair as alt

from tiltmeter.reports.style import PAGE, PAPER, config

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of a figure; the title is empty where there is only one."""

    title: str
    chart: Chart


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend. In a page the legend is not part of a chart, so that it can wrap and serve them all."""

    label: str
    colour: str = ""
    shape: str = "circle"


@dataclass(frozen=True, slots=True)
class Figure:
    """Charts that belong together. `slug` names it in links and files."""

    slug: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    legend: tuple[Key, ...] = ()
    wide: bool = True  # whether a chart needs the whole width of the page
    folded: bool = False  # whether a page shows it only on request

    def specs(self) -> list[dict[str, Any]]:
        """The Vega-Lite of each panel for a page: as wide as what it is put in, in the colours of the page."""
        return [
            {
                **_without_legends(panel.chart.properties(width="container").to_dict()),
                "config": config(PAGE),
                "autosize": {"type": "fit-x", "contains": "padding"},
            }
            for panel in self.panels
        ]

    def paper(self) -> dict[str, Any]:
        """The Vega-Lite of the whole figure, for a file."""
        width = 560 if self.wide or len(self.panels) == 1 else 330
        charts = [
            panel.chart.properties(width=width, **({"title": panel.title} if panel.title else {}))
            for panel in self.panels
        ]
        chart = charts[0] if len(charts) == 1 else alt.concat(*charts, columns=1 if self.wide else 2)
        if len(charts) > 1:
            chart = chart.resolve_scale(x="independent", y="independent", yOffset="independent")
        return {**chart.to_dict(), "config": config(PAPER)}


def _without_legends(spec: Any) -> Any:
    """The specification with every legend switched off; to disable them in the configuration is not enough."""
    if isinstance(spec, list):
        return [_without_legends(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    # Data can have a column of that name: it is left as it is.
    return {k: v if k == "datasets" else None if k == "legend" else _without_legends(v) for k, v in spec.items()}
