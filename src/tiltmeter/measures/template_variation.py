"""Variation of a measure between templates.

The templates are treated as a sample of all templates that could have been written. The variance between templates is
the variance of the templates' values minus the sampling variance of these values. The template spread is two standard
deviations: how far the value of another template may be from the mean. Reports mention the template spread if it is
significant and exceeds the margin of the measure.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from tiltmeter.measures.factors import Labels
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.records import Record, RecordKey, build_record
from tiltmeter.measures.standard_errors import Floats

_STANDARD_DEVIATIONS = 2.0


@dataclass(frozen=True, slots=True)
class TemplateVariation:
    """The standard deviation of a measure between `count` templates, without sampling noise.

    For ratios, it is the standard deviation of the logarithm. `p_value` tests the hypothesis that all templates have
    the same true value.
    """

    deviation: float
    p_value: float
    count: int

    @classmethod
    def from_items(cls, values: Floats, templates: Labels) -> "TemplateVariation | None":
        """Estimate the variation if each item belongs to one template: one-way analysis of variance.

        Return None if templates have fewer than two items on average, or if there is no variance within templates.

        >>> templates = np.array(["a", "a", "b", "b"], dtype=object)
        >>> variation = TemplateVariation.from_items(np.array([1.0, 3.0, 8.0, 10.0]), templates)
        >>> round(variation.deviation, 2), round(variation.p_value, 3)
        (4.85, 0.038)
        """
        codes, names = pd.factorize(templates)
        sizes = np.bincount(codes).astype(np.float64)
        n, count = float(sizes.sum()), len(names)
        if count < 2 or n < 2 * count:
            return None
        means = np.bincount(codes, values) / sizes
        within = float(np.sum((values - means[codes]) ** 2)) / (n - count)
        if within <= 0:
            return None
        across = float(sizes @ (means - values.mean()) ** 2) / (count - 1)
        effective_size = (n - float(np.sum(sizes**2)) / n) / (count - 1)
        deviation = float(np.sqrt(max(0.0, (across - within) / effective_size)))
        return cls(deviation, float(fdtrc(count - 1, n - count, across / within)), count)

    @classmethod
    def from_influences(cls, values: Floats, influence: Floats, strata: Labels) -> "TemplateVariation | None":
        """Estimate the variation if all templates have the same items; Hotelling's T² tests that they do not differ.

        `influence` has a row for each item and a column for each template (see `compute_standard_error`). Return None
        if there are too few items for the test.
        """
        codes, names = pd.factorize(strata)
        sizes = np.bincount(codes).astype(np.float64)
        count, df = len(values), len(codes) - len(names)
        if count < 2 or df < count or sizes.min() < 2:
            return None
        centred = influence - np.stack([np.bincount(codes, column) / sizes for column in influence.T], axis=1)[codes]
        covariance = (centred * (sizes / (sizes - 1))[codes, np.newaxis]).T @ centred
        # The contrasts are each template minus the first template; any other contrasts would give the same statistic.
        contrasts = np.hstack([-np.ones((count - 1, 1)), np.eye(count - 1)])
        difference, error = contrasts @ values, contrasts @ covariance @ contrasts.T
        if np.linalg.matrix_rank(error) < count - 1:
            return None
        statistic = float(difference @ np.linalg.solve(error, difference))
        df_error = df - count + 2
        p_value = float(fdtrc(count - 1, df_error, statistic * df_error / (df * (count - 1))))
        chance = float(np.trace(covariance) - covariance.sum() / count) / (count - 1)
        deviation = float(np.sqrt(max(0.0, float(values.var(ddof=1)) - chance)))
        return cls(deviation, p_value, count)

    def build_spread_record(self, key: RecordKey, part: str, measure: Measure) -> Record:
        """Build the record of the template spread over all items."""
        distance = _STANDARD_DEVIATIONS * self.deviation
        value = float(np.exp(distance)) if measure.ratio else distance
        why = f"a standard deviation between {self.count} templates has a test but no interval"
        return build_record(key, part, "all", "all", measure, value, self.count, p_value=self.p_value, why=why)


def build_spread_measure(measure: Measure) -> Measure:
    """Build the template spread of a measure, which is a measure itself."""
    distance = "the factor by which" if measure.ratio else "by how much"
    return Measure(
        measure.template_spread,
        f"{distance} {measure.name} of another template may differ from the mean over templates: two standard "
        f"deviations between templates, without sampling noise; {1 if measure.ratio else 0} if all templates agree",
        ratio=measure.ratio,
        digits=measure.digits,
        unit=measure.unit,
    )
