"""The figure that shows a benchmark's primary measure for each bias type, such as gender."""

from collections.abc import Iterator

from tiltmeter.reports.figures.chart_elements import MOST_PANELS, build_model_legend
from tiltmeter.reports.figures.figure import Figure
from tiltmeter.reports.figures.record_panels import (
    build_forest_panels,
    describe_incomparable_models,
    select_primary_records,
)
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure


def draw_bias_types(data: FigureData) -> Iterator[Figure]:
    """Yield a forest plot of the bias types and of all items; yield nothing if there is only one bias type."""
    rows = [*select_primary_records(data.records, "bias_type"), *select_primary_records(data.records, "all")]
    if len({r.group for r in rows if r.view == "bias_type"}) > 1:
        yield Figure(
            "bias-types",
            "By bias type",
            f"{rows[0].measure} with its 95% interval; the dotted line is no bias. The table of all numbers shows "
            f"which values are significant after correction for multiple tests.{describe_incomparable_models(rows)}",
            (panels := build_forest_panels(rows, data.models)),
            legend=build_model_legend(data.models, (r.model for r in rows)),
            wide=False,
            folded=len(panels) > MOST_PANELS,
        )


FIGURE = ReportFigure("bias-types", draw_bias_types, order=40, general=True)
