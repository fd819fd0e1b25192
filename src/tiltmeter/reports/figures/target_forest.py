"""The figure that shows a benchmark's primary measure for each target term, such as "nurse"."""

from collections.abc import Iterator

from tiltmeter.reports.figures.chart_elements import build_model_legend
from tiltmeter.reports.figures.figure import Figure
from tiltmeter.reports.figures.record_panels import (
    build_forest_panels,
    describe_incomparable_models,
    select_primary_records,
)
from tiltmeter.reports.figures.report_figure import FigureData, ReportFigure

# A warning for all outputs that show results of single target terms.
SINGLE_TERMS = (
    "Results of single terms are unreliable: with about 27 items per term, the ranking of the terms on one half of the "
    "items hardly predicts the ranking on the other half (split-half reliability .25)."
)
_MIN_ITEMS = 10  # terms with fewer items are not in the figure


def draw_target_terms(data: FigureData) -> Iterator[Figure]:
    """Yield a forest plot of the target terms that have enough items."""
    terms = [r for r in select_primary_records(data.records, "target") if r.n >= _MIN_ITEMS]
    terms.sort(key=lambda r: (-r.value, r.group))
    if terms:
        yield Figure(
            "target-terms",
            "By target term",
            f"{terms[0].measure} of each term with at least {_MIN_ITEMS} items, with its 95% interval. "
            f"{SINGLE_TERMS}{describe_incomparable_models(terms)}",
            build_forest_panels(terms, data.models),
            legend=build_model_legend(data.models, (r.model for r in terms)),
            wide=False,
            folded=True,
        )


FIGURE = ReportFigure("target-terms", draw_target_terms, order=50, general=True)
