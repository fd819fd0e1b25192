"""A percentage with equal weight for every bias type, however many items of each a data set happens to hold.

The value is the mean of the bias types' percentages, and its interval combines theirs (`WeightedShares`). A type with
few items may have all of them on one side, which says little about its other items. Clustered items count for fewer,
by the design effect of their standard error.
"""

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from tiltmeter.measures.estimates import LEVEL, PERCENT, WeightedShares
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.records import MeasuredPortion, Record, build_record
from tiltmeter.measures.standard_errors import Floats, Labels, compute_standard_error


def build_balanced_measure(measure: Measure) -> Measure:
    """The measure balanced by bias type."""
    return Measure(
        f"{measure.name} balanced by bias type",
        f"the mean of the {measure.name} of the bias types, each with equal weight; 50 is no bias",
        ideal=measure.ideal,
        stereotype=measure.stereotype,
        bounds=measure.bounds,
        unit=measure.unit,
        heading=f"{measure.name} balanced\nby bias type",
    )


def estimate_type_balanced_mean(
    values: Floats, bias_types: Labels, clusters: Labels | None = None
) -> WeightedShares | None:
    """The mean of the means of bias types, of values from 0 to 100; None if there is only one bias type.

    >>> types = np.array(["age"] * 20 + ["gender"] * 60, dtype=object)
    >>> values = 100.0 * np.array([1] * 15 + [0] * 5 + [1] * 30 + [0] * 30)
    >>> balanced = estimate_type_balanced_mean(values, types)
    >>> float(values.mean()), balanced.value, [round(end, 1) for end in balanced.interval()]
    (56.25, 62.5, [49.7, 74.1])
    """
    codes, names = pd.factorize(bias_types)
    if len(names) < 2:
        return None
    sizes = np.bincount(codes).astype(np.float64)
    means = np.bincount(codes, values) / sizes
    influence = (values - means[codes]) / sizes[codes] / len(names)
    error = compute_standard_error(influence, clusters, bias_types)
    effective = sizes / error.design_effect
    if clusters is not None:  # the design effect is itself an estimate, from few clusters of some bias types
        effective *= float(ndtri((1 + LEVEL) / 2) / stdtrit(error.df, (1 + LEVEL) / 2)) ** 2
    return WeightedShares(np.full(len(names), 100.0 / len(names)), effective * means / 100.0, effective)


def build_balanced_record(
    measured: MeasuredPortion,
    part: str,
    measure: Measure,
    values: Floats,
    bias_types: Labels,
    clusters: Labels | None,
    *,
    intervals: bool,
) -> Record | None:
    """The record of a measure balanced by bias type, over all items; None if there is only one bias type."""
    balanced = estimate_type_balanced_mean(values, bias_types, clusters)
    if balanced is None:
        return None
    ends = None
    if intervals:
        low, high = balanced.interval()
        ends = max(PERCENT[0], low), min(PERCENT[1], high)
    return build_record(measured, part, "all", "all", measure, balanced.value, len(values), ends=ends)
