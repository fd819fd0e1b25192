"""Colours and fonts of the figures; colour-blind readers can distinguish the colours."""

from dataclasses import dataclass
from typing import Any

# Colours of models and other series; each has enough contrast on white and on black.
SERIES = ("#2f7fd1", "#e07b00", "#12a07c", "#c8518f", "#8a63d2", "#a38600", "#3fb0d8", "#9a6b4f")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
TOWARDS, EVEN, AGAINST = "#e07b00", "#f2f1ee", "#2f7fd1"
WOMEN, MEN = "#8a63d2", "#12a07c"
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


@dataclass(frozen=True, slots=True)
class ThemeColours:
    """The colours that differ between light and dark backgrounds."""

    text: str
    soft: str
    line: str
    paper: str


PAPER = ThemeColours(text="#1c1f24", soft="#5c636e", line="#dfe1e5", paper="#ffffff")
# On pages, figures use the colours of the style sheet, so that they follow its dark mode and its print version.
PAGE = ThemeColours(text="var(--ink)", soft="var(--soft)", line="var(--line)", paper="var(--card)")


def build_config(ink: ThemeColours) -> dict[str, Any]:
    """Return the Vega-Lite configuration of all figures, with the colours `ink`."""
    return {
        "font": FONT,
        "background": ink.paper,
        "view": {"stroke": None},
        "axis": {
            "labelColor": ink.soft,
            "titleColor": ink.soft,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 10,
            "labelPadding": 6,
            "labelLimit": 220,
            "gridColor": ink.line,
            "domain": False,
            "ticks": False,
        },
        "legend": {
            "labelColor": ink.text,
            "titleColor": ink.soft,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 260,
            "orient": "top",
            "direction": "horizontal",
            "columns": 2,
            "symbolSize": 90,
            "offset": 14,
        },
        "title": {"color": ink.text, "fontSize": 13, "fontWeight": 600, "anchor": "start", "offset": 10},
        "header": {"labelColor": ink.text, "titleColor": ink.soft},
        "rule": {"color": ink.soft},
        "boxplot": {"median": {"color": ink.text}, "rule": {"color": ink.soft}},
        "range": {"category": list(SERIES), "symbol": list(SHAPES)},
        "style": {
            "ideal": {"color": ink.text, "strokeDash": [2, 3], "strokeWidth": 1.5},
            "ideal-mark": {"filled": False, "color": ink.text, "strokeWidth": 1.5},
            "contour": {"color": ink.soft, "strokeWidth": 1, "opacity": 0.45},
            "note": {"color": ink.soft, "fontSize": 11},
            "halo": {"color": ink.paper, "stroke": ink.paper, "strokeWidth": 6, "fontSize": 11},
            "cell": {"stroke": ink.paper, "strokeWidth": 3},
            "name": {"color": ink.text, "fontSize": 12},
            "mean": {"stroke": ink.paper, "strokeWidth": 1.5},
            "guide": {"color": ink.soft, "strokeDash": [5, 4], "strokeWidth": 1.5},
        },
    }
