"""Percentages in which every bias type has equal weight, even if bias types have different numbers of items.

The value is the mean of the percentages of the bias types. Its interval combines the intervals of the bias types
(`WeightedShares`). If items are clustered, the number of items of each bias type is divided by the design effect.
"""

import numpy as np
import pandas as pd

from tiltmeter.measures.estimates import PERCENT, WeightedShares
from tiltmeter.measures.factors import Factors, Labels
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.records import Record, RecordKey, build_record
from tiltmeter.measures.standard_errors import Floats, compute_standard_error


def build_balanced_measure(measure: Measure) -> Measure:
    """Build the variant of a measure in which all bias types have the same weight."""
    return Measure(
        f"{measure.name} balanced by bias type",
        f"the mean of the {measure.name} of the bias types, each with equal weight; 50 is no bias",
        ideal=measure.ideal,
        bias_direction=measure.bias_direction,
        bounds=measure.bounds,
        unit=measure.unit,
        heading=f"{measure.name} balanced\nby bias type",
    )


def estimate_type_balanced_mean(
    values: Floats, bias_types: Labels, factors: Factors | None = None
) -> WeightedShares | None:
    """Estimate the mean of the means of the bias types; return None if there is only one bias type.

    `values` has a number from 0 to 100 for each item.

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
    error = compute_standard_error(influence, factors, bias_types)
    return WeightedShares(np.full(len(names), 100.0 / len(names)), sizes * means / 100.0, sizes).share_factors(error)


def build_balanced_record(
    key: RecordKey,
    part: str,
    measure: Measure,
    values: Floats,
    bias_types: Labels,
    factors: Factors | None,
    *,
    intervals: bool,
) -> Record | None:
    """Build the record of a measure balanced by bias type; return None if there is only one bias type."""
    balanced = estimate_type_balanced_mean(values, bias_types, factors)
    if balanced is None:
        return None
    ends = None
    if intervals:
        low, high = balanced.interval()
        ends = max(PERCENT[0], low), min(PERCENT[1], high)
    return build_record(key, part, "all", "all", measure, balanced.value, len(values), ends=ends)
