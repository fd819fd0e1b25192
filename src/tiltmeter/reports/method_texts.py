"""Clauses on how comparisons were computed, from the measures that were compared."""

from collections.abc import Iterable, Sequence

from tiltmeter.measures.measure import Quantity, name_clusters
from tiltmeter.reports.formatting import join_words


def describe_clusters(quantities: Iterable[Quantity]) -> str:
    """A clause on the clusters of items of these measures; empty if they have none.

    >>> from tiltmeter.measures.measure import quantities_for
    >>> describe_clusters(quantities_for(["more", "less"], []))
    '; items with the same template are a cluster'
    """
    columns = dict.fromkeys(name for quantity in quantities for name in quantity.values.clusters)
    return f"; items with the same {name_clusters(list(columns), 1)} are a cluster" if columns else ""


def describe_tests(quantities: Iterable[Quantity]) -> str:
    """A clause on the tests of these measures, and one on their effect sizes."""
    found = list(dict.fromkeys(quantities))
    preferences = _list_names([one for one in found if one.values.preference])
    means = _list_names([one for one in found if not one.values.preference and one.values.is_mean])
    clauses = ["Student's t of the paired differences"]
    if preferences:
        clauses.append(f"for {preferences} together with McNemar's mid-P test, whichever is more cautious")
    strata: dict[str, list[Quantity]] = {}
    for one in found:
        if one.values.weigh is not None:
            strata.setdefault(one.values.strata, []).append(one)
    clauses += [f"for {_list_names(group)} within {noun}" for noun, group in strata.items()]
    joint = _list_names([one for one in found if one.values.estimate is not None])
    if joint:
        clauses.append(f"for {joint} of jackknife pseudo-values, since it is computed from all items together")
    effects = [f"Cohen's g of the items that differ ({preferences})"] if preferences else []
    effects += [f"Hedges' g ({means})"] if means else []
    return "; ".join(clauses) + (f". effect: {', '.join(effects)}" if effects else "")


def _list_names(quantities: Sequence[Quantity]) -> str:
    return join_words(list(dict.fromkeys(one.name for one in quantities))) if quantities else ""
