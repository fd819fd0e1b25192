"""Clauses that explain the statistical method of a comparison; they depend on the compared measures."""

from collections.abc import Iterable, Sequence

from tiltmeter.measures.measure import Quantity, name_clusters
from tiltmeter.reports.formatting import join_words
from tiltmeter.reports.grouping import group_by


def describe_factors(quantities: Iterable[Quantity]) -> str:
    """Return a clause on the factors (shared properties of items) that intervals account for; empty if there are none.

    >>> from tiltmeter.measures.measure import list_quantities
    >>> describe_factors(list_quantities(["stereotype", "anti-stereotype"], []))
    ', with what items share: target or stereotype word or anti-stereotype word'
    """
    columns = dict.fromkeys(name for quantity in quantities for name in quantity.values.factors)
    return f", with what items share: {name_clusters(list(columns), 1)}" if columns else ""


def describe_tests(quantities: Iterable[Quantity]) -> str:
    """Return clauses that name the significance tests and the effect sizes of these measures."""
    distinct = list(dict.fromkeys(quantities))
    preferences = _list_names([one for one in distinct if one.values.preference])
    means = _list_names([one for one in distinct if not one.values.preference and one.values.is_mean])
    clauses = ["Student's t of the paired differences"]
    if preferences:
        clauses.append(f"for {preferences} also McNemar's mid-P test, and the larger p of the two tests")
    weighted = (one for one in distinct if one.values.weigh is not None)
    strata = group_by(weighted, lambda one: one.values.strata)
    clauses += [f"for {_list_names(group)} within {noun}" for noun, group in strata.items()]
    joint = _list_names([one for one in distinct if one.values.estimate is not None])
    if joint:
        clauses.append(f"for {joint} with jackknife pseudo-values, because it is computed from all items together")
    effects = [f"Cohen's g of the items that differ ({preferences})"] if preferences else []
    effects += [f"Hedges' g ({means})"] if means else []
    return "; ".join(clauses) + (f". effect: {', '.join(effects)}" if effects else "")


def _list_names(quantities: Sequence[Quantity]) -> str:
    return join_words(list(dict.fromkeys(one.name for one in quantities))) if quantities else ""
