"""Differential functioning of items: items in which languages differ by more than the noise between models.

For each item, an analysis of variance compares the variance between languages with the variance between the models of a
language, after the mean of each cell is removed. With few models the variance within one item is uncertain, so it is
averaged with the mean variance of all items, which doubles the degrees of freedom (moderated F test, Smyth 2004).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.standard_errors import Floats

# The tests need this number of models in each of at least two languages.
FEWEST_MODELS_OF_LANGUAGE = 2


@dataclass(frozen=True, slots=True)
class ItemTests:
    """The tests of all items: `deviations` has a row for each of `languages` and a column for each item.

    A deviation is the mean of a language minus the mean of all languages, after the means of cells are removed.
    """

    languages: tuple[str, ...]
    deviations: Floats
    p_values: Floats
    p_adjusted: Floats


def screen_items(crossed: CrossedAnswers) -> ItemTests | None:
    """Test each item for differential functioning; return None if fewer than two languages have enough models."""
    from scipy.stats import false_discovery_control  # slow to import, and needed only here

    names = crossed.language_names
    counts = {name: int((crossed.languages == name).sum()) for name in names}
    used = [name for name in names if counts[name] >= FEWEST_MODELS_OF_LANGUAGE]
    if len(used) < 2:
        return None
    centred = crossed.centre_answers()
    groups = [centred[crossed.languages == name] for name in used]
    means = np.array([group.mean(axis=0) for group in groups])
    deviations = means - means.mean(axis=0)
    p_values = _compute_p_values(groups, means)
    return ItemTests(tuple(used), deviations, p_values, false_discovery_control(p_values))


def _compute_p_values(groups: list[Floats], means: Floats) -> Floats:
    """Return the p-value of the moderated F test of each item."""
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    df, df_error = float(len(groups) - 1), float(sizes.sum() - len(groups))
    grand = sizes @ means / sizes.sum()
    between = sizes @ (means - grand) ** 2 / df
    squares = sum(np.sum((group - mean) ** 2, axis=0) for group, mean in zip(groups, means, strict=True))
    within = np.asarray(squares) / df_error
    moderated = (within + within.mean()) / 2
    if within.mean() <= 0:
        return np.ones(len(within))
    return np.asarray(fdtrc(df, 2 * df_error, between / moderated))
