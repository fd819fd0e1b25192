"""How much a number moves from template to template.

A template is one of many that could have been written. The variance of a number between templates is what their numbers
vary by, less what the items leave to chance. Twice the root of it is how far the number of another template of the kind
may lie from the mean; where that is more than the margin, and more than chance, it is said beside the number.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from tiltmeter.measures.measure import Measure
from tiltmeter.measures.records import Measured, Record, record_of
from tiltmeter.measures.standard_errors import Floats, Labels

# How many standard deviations another template may lie from the mean.
_REACH = 2.0


@dataclass(frozen=True, slots=True)
class Templates:
    """The standard deviation of a number (of ratios, of the logarithm) between so many templates beyond chance.

    `p_value` is that of the hypothesis that all templates have the same truth.
    """

    deviation: float
    p_value: float
    count: int

    @classmethod
    def of_items(cls, values: Floats, templates: Labels) -> "Templates | None":
        """The mean of items of which each belongs to one template: a one-way analysis of variance.

        None where templates have fewer than two items on average, or all items of each template are alike.

        >>> found = Templates.of_items(np.array([1.0, 3.0, 8.0, 10.0]), np.array(["a", "a", "b", "b"], dtype=object))
        >>> round(found.deviation, 2), round(found.p_value, 3)
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
        each = (n - float(np.sum(sizes**2)) / n) / (count - 1)
        deviation = float(np.sqrt(max(0.0, (across - within) / each)))
        return cls(deviation, float(fdtrc(count - 1, n - count, across / within)), count)

    @classmethod
    def of_influences(cls, values: Floats, influence: Floats, strata: Labels) -> "Templates | None":
        """The numbers of templates that were filled with the same items: Hotelling's test that they are equal.

        `influence` has a row for each item and a column for each template (see `standard_errors.spread`). None where
        there are too few items for a test.
        """
        codes, names = pd.factorize(strata)
        sizes = np.bincount(codes).astype(np.float64)
        count, freedom = len(values), len(codes) - len(names)
        if count < 2 or freedom < count or sizes.min() < 2:
            return None
        centred = influence - np.stack([np.bincount(codes, column) / sizes for column in influence.T], axis=1)[codes]
        covariance = (centred * (sizes / (sizes - 1))[codes, np.newaxis]).T @ centred
        # Each template against the first: the test is the same for any choice of comparisons.
        contrasts = np.hstack([-np.ones((count - 1, 1)), np.eye(count - 1)])
        difference, error = contrasts @ values, contrasts @ covariance @ contrasts.T
        if np.linalg.matrix_rank(error) < count - 1:
            return None
        statistic = float(difference @ np.linalg.solve(error, difference))
        rest = freedom - count + 2
        p_value = float(fdtrc(count - 1, rest, statistic * rest / (freedom * (count - 1))))
        chance = float(np.trace(covariance) - covariance.sum() / count) / (count - 1)
        deviation = float(np.sqrt(max(0.0, float(values.var(ddof=1)) - chance)))
        return cls(deviation, p_value, count)

    def record(self, measured: Measured, part: str, measure: Measure) -> Record:
        """What is told of all items: how far another template may be."""
        reach = _REACH * self.deviation
        value = float(np.exp(reach)) if measure.ratio else reach
        why = f"a standard deviation between {self.count} templates, tested but without an interval"
        return record_of(measured, part, "all", "all", measure, value, self.count, p_value=self.p_value, why=why)


def between_templates(measure: Measure) -> Measure:
    """The measure that says how much another one moves from template to template."""
    what = "the factor by which" if measure.ratio else "how far"
    return Measure(
        measure.between,
        f"{what} {measure.name} of another template of the kind may lie from the mean over templates: two standard "
        f"deviations between templates, beyond chance; {1 if measure.ratio else 0} where all agree",
        ratio=measure.ratio,
        digits=measure.digits,
        unit=measure.unit,
    )
