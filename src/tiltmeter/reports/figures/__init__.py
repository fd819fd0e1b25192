"""Figures: each made by a pure function from records or scores to charts."""

from tiltmeter.reports.figures.benchmark_figures import build_figures
from tiltmeter.reports.figures.figure import Figure, Panel

__all__ = ["Figure", "Panel", "build_figures"]
