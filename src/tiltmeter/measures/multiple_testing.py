"""Correction for multiple tests within test families (groups of tests that are corrected together)."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from scipy.special import stdtrit

from tiltmeter.measures.estimates import LEVEL, POWER

Tested = TypeVar("Tested")


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """Adjust the p-values of a test family by Holm's method (1979).

    The method controls the family-wise error rate under any dependence between the tests.

    >>> [round(p, 3) for p in adjust_holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def correct_detectable_effect(effect: float, df: float, tests: int) -> float:
    """Return a minimum detectable effect at the Bonferroni level, which is Holm's level for the smallest p-value.

    `effect` is the detectable effect of a single test, and `df` are its degrees of freedom.

    >>> round(correct_detectable_effect(5.0, 100, 1), 2), round(correct_detectable_effect(5.0, 100, 10), 2)
    (5.0, 6.57)
    """
    if tests == 1 or df < 1:
        return effect
    power = float(stdtrit(df, POWER))
    uncorrected, corrected = (float(stdtrit(df, 1 - (1 - LEVEL) / 2 / count)) + power for count in (1, tests))
    return effect * corrected / uncorrected


def group_indexes_by_key(entries: Iterable[Tested], key: Callable[[Tested], Hashable]) -> list[list[int]]:
    """Return a list of indexes of `entries` for each test family; entries with equal `key` are one family.

    Families are in order of first appearance.

    >>> group_indexes_by_key(["SS en", "LMS en", "SS de"], lambda name: name.split()[0])
    [[0, 2], [1]]
    """
    families: dict[Hashable, list[int]] = {}
    for index, entry in enumerate(entries):
        families.setdefault(key(entry), []).append(index)
    return list(families.values())
