"""Figures: each made by a pure function from records or scores to charts."""

from tiltmeter.reports.figures.figure import Figure, Panel
from tiltmeter.reports.figures.of_benchmark import figures_of

__all__ = ["Figure", "Panel", "figures_of"]
