"""Comparisons of languages after adjustment for model quality, for example SS adjusted for LMS.

A model that understands a language better may also show more of its stereotypes. The adjustment is a regression on cell
means (one model in one language each), with the same slope in all languages.
"""

import numpy as np

from tiltmeter.comparing.language_inference import (
    build_estimates,
    build_language_design,
    explain_too_few_models,
    infer_from_fit,
)
from tiltmeter.comparing.language_panels import LanguagePanel
from tiltmeter.comparing.language_results import ContrastEstimate, LanguageInference
from tiltmeter.comparing.language_sentences import format_test
from tiltmeter.comparing.language_validity import QualityAdjustment
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.random_models import MODEL, fit_random_models
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.verdict_rule import ALPHA


def adjust_for_quality(panel: LanguagePanel, like: LanguageInference) -> QualityAdjustment | None:
    """Return the comparison of languages at equal model quality; `like` is the comparison without adjustment.

    Return None if the measure is not about bias, if the benchmark has no measure of quality, or with too few models.
    """
    crossed, measure = panel.crossed, panel.quantity.measure
    quality = find_quality(panel)
    if quality is None or not measure.is_about_bias or explain_too_few_models(crossed):
        return None
    values = compute_cell_values(panel, quality)
    languages = build_language_design(crossed)
    design = np.column_stack([languages, values])
    if int(np.linalg.matrix_rank(design)) < design.shape[1]:
        return None
    fitted = fit_random_models(crossed, design)
    (slope,) = build_estimates([fitted.estimate_contrast(np.eye(design.shape[1])[-1])], None)
    mean = float(np.mean(crossed.average_languages() @ values))
    adjusted = infer_from_fit(fitted, measure, np.array([mean]))
    return QualityAdjustment(
        measure=quality.name,
        slope=slope,
        adjusted=adjusted,
        sentence=_describe_adjustment(panel.quantity, quality, slope, like, adjusted),
    )


def find_quality(panel: LanguagePanel) -> Quantity | None:
    """Return the first measure of quality of the cells: a mean over items whose ideal is the best possible value."""
    return next(
        (
            quantity
            for quantity in panel.cells[0].list_quantities()
            if quantity.values.is_mean and quantity.measure.ideal_at_bound and not quantity.measure.is_about_bias
        ),
        None,
    )


def compute_cell_values(panel: LanguagePanel, quantity: Quantity) -> Floats:
    """Return the value of an unweighted mean in each cell of a panel."""
    return np.array(
        [float(cell.compute_item_values(quantity, cell.list_items(quantity)).mean()) for cell in panel.cells]
    )


def _describe_adjustment(
    quantity: Quantity, quality: Quantity, slope: ContrastEstimate, like: LanguageInference, adjusted: LanguageInference
) -> str:
    """Return one sentence that tells how the adjustment changes the conclusion on models like these."""
    measure = quantity.measure
    related = "is related to" if slope.significant else "is not significantly related to"
    first = (
        f"{quantity.name} {related} {quality.name} over models ({slope.value:+.2g} {measure.unit or 'units'} for one "
        f"{quality.measure.unit.removesuffix('s') or 'unit'}, {format_test(slope.p_value)})"
    )
    if like.joint is None or adjusted.joint is None:
        return f"{first}."
    before, after = like.joint.p_value < ALPHA, adjusted.joint.p_value < ALPHA
    texts = {True: "differ significantly", False: "do not differ significantly"}
    still = "still " if before == after else ""
    spread = ""
    deviations = [dict(one.deviations).get(MODEL) for one in (like, adjusted)]
    if deviations[0] is not None and deviations[1] is not None:
        spread = f"; the standard deviation between models goes from {deviations[0]:.1f} to {deviations[1]:.1f}"
    return (
        f"{first}; at equal {quality.name}, the languages {still}{texts[after]} "
        f"({format_test(adjusted.joint.p_value)}; without adjustment {format_test(like.joint.p_value)}){spread}."
    )
