"""The difference of two groups of members (models or languages) that answered the same items."""

from dataclasses import replace

import numpy as np

from tiltmeter.measures.contrasts import Contrast, are_equal_scores, compute_contrast
from tiltmeter.measures.crossed_effects import (
    MemberInference,
    combine_variances,
    compute_answer_noise,
    compute_group_variance,
    infer_over_members,
)
from tiltmeter.measures.factors import Factors, Labels
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.standard_errors import Floats, StandardError

# An interval over members (models, languages) needs at least this number of members in each group.
FEWEST_MEMBERS = 5


def compute_group_contrast(
    quantity: Quantity,
    left: Floats,
    right: Floats,
    labels: Labels | None = None,
    factors: Factors | None = None,
    sides: Labels | None = None,
) -> tuple[Contrast, MemberInference | None]:
    """Compare the means of two groups of models or languages (members), item by item.

    Return a result for these members, and a result that generalises to similar members; the second is None if there are
    too few members. `left` and `right` contain the contributions of items to a measure that is a single mean: a row for
    each member and a column for each item. `labels`, `factors` and `sides` are explained in `compute_contrast`.
    """
    answers = np.vstack([left, right])
    means = left.mean(axis=0, keepdims=True), right.mean(axis=0, keepdims=True)
    identical = all(are_equal_scores(answers[0], row) for row in answers[1:])
    result = compute_contrast(quantity, *means, labels, factors, sides=sides, identical=identical)
    if min(len(left), len(right)) < FEWEST_MEMBERS or identical:
        return result, None
    weights = np.full(result.n, 1 / result.n) if labels is None else quantity.values.compute_weights(labels, sides)
    coefficients = np.repeat([1 / len(left), -1 / len(right)], [len(left), len(right)])
    groups = np.repeat(np.array(["left", "right"], dtype=object), [len(left), len(right)])
    items = StandardError(result.standard_error, result.df, result.clusters, factor=result.factor)
    between = compute_group_variance(left @ weights, right @ weights)
    error = combine_variances(between, items, compute_answer_noise(answers, coefficients, groups, weights, labels))
    over = infer_over_members(result.difference, error)
    low, high = quantity.measure.clip_difference((over.low, over.high))
    return result, replace(over, low=low, high=high)
