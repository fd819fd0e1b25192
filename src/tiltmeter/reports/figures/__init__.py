"""Figures of the report, each declared by an object `FIGURE` in a module or an entry point in `tiltmeter.figures`."""

from functools import cache

from tiltmeter.measures import get_measure
from tiltmeter.registry import find_package_objects, load_components
from tiltmeter.reports.figures.figure import Figure, Panel
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure

__all__ = ["Figure", "FigureData", "Panel", "ReportFigure", "build_figures", "list_figures", "select_figures"]


@cache
def list_figures() -> tuple[ReportFigure, ...]:
    """Return all figures, built-in and from plug-ins, in the order in which a report shows them."""
    builtin = find_package_objects(__name__, "FIGURE")
    figures = load_components("figures", builtin, ReportFigure, lambda figure: figure.name)
    return tuple(sorted(figures.values(), key=lambda figure: (figure.order, figure.name)))


def select_figures(data: FigureData) -> list[ReportFigure]:
    """Return the figures for a benchmark: all general figures, and the figures that its measures list by name."""
    declared = {
        name for measure in {record.measure for record in data.records} for name in get_measure(measure).figures
    }
    return [figure for figure in list_figures() if figure.general or figure.name in declared]


def build_figures(data: FigureData) -> list[Figure]:
    """Return the figures of one benchmark; figures for which there are no data are left out."""
    return [figure for report_figure in select_figures(data) for figure in report_figure.draw(data)]
