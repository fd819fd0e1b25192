"""Whom stereotypes are about: the weights of items in a mean over men's minus a mean over women's stereotypes."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from tiltmeter.measures.standard_errors import Floats, Labels

FEMALE, MALE = range(1, 8), range(8, 17)
# Fewest stereotypes on either side for an estimate with random stereotypes.
FEWEST_STEREOTYPES = 5


def by_stereotype(labels: Labels) -> Floats:
    """The weight of each item in the mean over stereotypes about men minus that over stereotypes about women."""
    return men_minus_women(labels, lambda label: int(str(label)) in MALE)


def men_minus_women(labels: Labels, is_male: Callable[[object], bool]) -> Floats:
    """The weight of each item in the mean over male groups minus the mean over female groups.

    Groups of one side have equal weight, however many items they have, as in g_s.

    >>> men_minus_women(np.array(["m", "m", "f"], dtype=object), lambda label: label == "m").tolist()
    [0.5, 0.5, -1.0]
    """
    codes, names = pd.factorize(labels)
    male = np.array([is_male(name) for name in names])
    groups = np.where(male, 1.0 / max(1, male.sum()), -1.0 / max(1, (~male).sum()))
    weights: Floats = (groups / np.bincount(codes))[codes]
    return weights
