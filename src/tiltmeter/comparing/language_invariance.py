"""Measurement invariance: whether the items of a benchmark measure the same in all languages."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from tiltmeter.comparing.language_inference import build_language_means
from tiltmeter.comparing.language_panels import LanguagePanel
from tiltmeter.comparing.language_results import LanguageMean
from tiltmeter.comparing.language_validity import (
    DifferentialItem,
    Invariance,
    InvarianceVerdict,
    LanguageCorrelation,
)
from tiltmeter.measures.answer_variance import AnswerMoments
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.differential_items import ItemTests, screen_items
from tiltmeter.measures.item_effect_correlations import correlate_item_effects
from tiltmeter.measures.verdict_rule import ALPHA

# Correlations of two constructs above the first number are usually taken as evidence for one construct, those below
# the second as evidence for two (Rönkkö and Cho 2022).
SAME_TEST, DIFFERENT_TESTS = 0.9, 0.8


def assess_invariance(panel: LanguagePanel, moments: AnswerMoments) -> Invariance | None:
    """Return the measurement invariance of a panel; None if no language has two models."""
    crossed = panel.crossed
    correlations = tuple(
        LanguageCorrelation(
            left=one.first, right=one.second, correlation=one.correlation, low=one.low, high=one.high, pairs=one.pairs
        )
        for one in correlate_item_effects(crossed, moments)
    )
    tests = screen_items(crossed)
    if tests is None:
        return None
    flagged, suspected = tests.p_adjusted < ALPHA, tests.p_values < ALPHA
    verdict = decide_invariance(correlations)
    return Invariance(
        correlations=correlations,
        tested=crossed.n,
        suspected=int(suspected.sum()),
        items=tuple(_list_items(panel, tests)),
        means_without=tuple(_compute_means_without(panel, flagged)),
        means_without_suspected=tuple(_compute_means_without(panel, suspected)),
        verdict=verdict,
        sentence=describe_invariance(verdict, correlations, int(flagged.sum()), crossed.n),
        reason=_explain_missing(correlations),
    )


def decide_invariance(correlations: Sequence[LanguageCorrelation]) -> InvarianceVerdict:
    """Return the verdict on all pairs of languages from the intervals of their correlations.

    >>> pair = LanguageCorrelation(left="de", right="en", correlation=0.4, low=0.2, high=0.6, pairs=12)
    >>> decide_invariance([pair]), decide_invariance([replace(pair, low=0.92, high=1.0)]), decide_invariance([])
    ('different tests', 'same test', 'unclear')
    """
    ends = [(one.low, one.high) for one in correlations if one.low is not None and one.high is not None]
    if not ends:
        return "unclear"
    if all(low >= SAME_TEST for low, _ in ends):
        return "same test"
    different = sum(high < DIFFERENT_TESTS for _, high in ends)
    if different == len(ends):
        return "different tests"
    return "partly the same test" if different else "unclear"


def describe_invariance(
    verdict: InvarianceVerdict, correlations: Sequence[LanguageCorrelation], flagged: int, tested: int
) -> str:
    """Return one sentence that tells whether the languages were measured by the same test."""
    known = sorted(one.correlation for one in correlations if one.correlation is not None)
    count = f"{flagged:,}" if flagged else "none"
    items = f"{count} of {tested:,} items {'functions' if flagged == 1 else 'function'} differently"
    if not known:
        return f"It is unclear whether the languages were measured by the same test; {items}."
    spread = f"{known[0]:.2f}" if len(known) == 1 else f"{known[0]:.2f} to {known[-1]:.2f}, median {median(known):.2f}"
    evidence = f"item effects correlate {spread} between languages, corrected for unreliability, and {items}"
    texts: dict[InvarianceVerdict, str] = {
        "same test": "The languages were measured by the same test",
        "partly the same test": "Some languages were measured by different tests",
        "different tests": "The languages were measured by different tests, although the items are translations",
        "unclear": "It is unclear whether the languages were measured by the same test",
    }
    return f"{texts[verdict]}: {evidence}."


def _explain_missing(correlations: Sequence[LanguageCorrelation]) -> str:
    unknown = [f"{one.left} and {one.right}" for one in correlations if one.correlation is None]
    if not unknown:
        return ""
    return f"No correlation, because models of a language do not agree on items or are too few: {', '.join(unknown)}."


def _list_items(panel: LanguagePanel, tests: ItemTests) -> Iterator[DifferentialItem]:
    """Yield the items with differential functioning, from the smallest p-value."""
    for index in np.argsort(tests.p_values, kind="stable"):
        if tests.p_adjusted[index] >= ALPHA:
            return
        part, item = panel.items[index]
        largest = int(np.argmax(np.abs(tests.deviations[:, index])))
        yield DifferentialItem(
            part=str(part),
            item=str(item),
            language=tests.languages[largest],
            deviation=float(tests.deviations[largest, index]),
            p_value=float(tests.p_values[index]),
            p_adjusted=float(tests.p_adjusted[index]),
        )


def _compute_means_without(panel: LanguagePanel, dropped: NDArray[np.bool_]) -> list[LanguageMean]:
    """Return the language means, for these models, without some items; empty if no item or every item is dropped."""
    kept = np.flatnonzero(~dropped)
    labels = None if panel.crossed.strata is None else panel.crossed.strata[kept]
    if not dropped.any() or dropped.all() or not panel.quantity.values.is_defined(labels, _select_sides(panel, kept)):
        return []
    crossed = _select_items(panel, kept)
    averages = crossed.average_languages()
    estimates = [crossed.estimate_combination(row) for row in averages]
    return build_language_means(crossed, estimates, panel.quantity.measure)


def _select_sides(panel: LanguagePanel, kept: NDArray[np.intp]) -> NDArray[np.object_] | None:
    return panel.cells[0].get_stratum_sides(panel.quantity, panel.items[kept])


def _select_items(panel: LanguagePanel, kept: NDArray[np.intp]) -> CrossedAnswers:
    crossed = panel.crossed
    strata = None if crossed.strata is None else crossed.strata[kept]
    sides = _select_sides(panel, kept)
    weights = (
        np.full(len(kept), 1 / len(kept)) if strata is None else panel.quantity.values.compute_weights(strata, sides)
    )
    factors = {name: None if one is None else one.select_rows(kept) for name, one in crossed.factors.items()}
    return replace(crossed, answers=crossed.answers[:, kept], weights=weights, strata=strata, factors=factors)
