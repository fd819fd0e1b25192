"""Agreement of people who decided or rated independently: Cohen's kappa and Krippendorff's alpha.

Both are 1 - observed / expected disagreement: 1 is perfect agreement, 0 that of chance. Intervals are percentile
bootstraps over items. Items with the same ratings are interchangeable, so a resample is a draw from a multinomial
distribution over the distinct rows, which is the same bootstrap and much faster.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import UsageError
from tiltmeter.measures.bootstrap import RESAMPLES, Floats, Interval, compute_percentile_intervals, create_generator

# nominal: categories; ordinal: steps in an order; interval: numbers whose differences count.
Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")

ALL_ALIKE = "all ratings are the same, so there is no disagreement to expect"
TOO_FEW = "fewer than two items were rated by two people"
# A bootstrap in which more resamples than this are undefined gives no interval.
_UNDEFINED = 0.05


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient with its 95% interval, or the reasons why there is none.

    `items` counts those with at least two ratings, `observed` is the share of pairs of ratings that are the same.
    """

    name: str
    value: float | None
    interval: Interval | None
    items: int
    observed: float | None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """The agreement as JSON values."""
        return {
            "name": self.name,
            "value": self.value,
            "interval": list(self.interval) if self.interval else None,
            "items": self.items,
            "observed": self.observed,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        """One line for people.

        >>> print(Agreement("alpha", 0.6912, (0.41, 0.893), 12, 0.8))
        alpha 0.69 [0.41, 0.89], 80% of pairs the same, 12 items
        """
        if self.value is None:
            return f"{self.name} undefined: {self.reason} ({self.items:,} items)"
        ends = (
            f" [{self.interval[0]:.2f}, {self.interval[1]:.2f}]" if self.interval else f" (no interval: {self.reason})"
        )
        return f"{self.name} {self.value:.2f}{ends}, {self.observed:.0%} of pairs the same, {self.items:,} items"


def compute_cohen_kappa(
    pairs: Iterable[tuple[object, object]], *, resamples: int = RESAMPLES, key: str = ""
) -> Agreement:
    """Cohen's (1960) kappa of two raters, from their two ratings of each item.

    >>> same = [("keep", "keep")] * 20 + [("drop", "drop")] * 15
    >>> other = [("keep", "drop")] * 5 + [("drop", "keep")] * 10
    >>> print(compute_cohen_kappa(same + other))
    kappa 0.40 [0.14, 0.64], 70% of pairs the same, 50 items
    """
    cells = _sort_rows(Counter(pairs))
    total = cells.total()
    if total < 2:
        return Agreement("kappa", None, None, total, None, TOO_FEW)
    places = {category: place for place, category in enumerate(dict.fromkeys(c for cell in cells for c in cell))}
    first = np.array([places[a] for a, _ in cells])
    second = np.array([places[b] for _, b in cells])
    counts = np.array(list(cells.values()), dtype=np.float64)

    def kappas(drawn: Floats) -> Floats:
        one, other = _compute_marginals(drawn, first, len(places)), _compute_marginals(drawn, second, len(places))
        observed = drawn[:, first == second].sum(axis=1) / total
        expected = (one * other).sum(axis=1) / total**2
        return _compute_ratio(1 - observed, 1 - expected)

    same = float(counts[first == second].sum() / total)
    return _estimate_agreement("kappa", kappas, counts, total, same, resamples, key)


def compute_krippendorff_alpha(
    ratings: Sequence[Sequence[Any]], level: Level = "nominal", *, resamples: int = RESAMPLES, key: str = ""
) -> Agreement:
    """Krippendorff's alpha of any number of raters; a row has the ratings of an item, None where a rater gave none.

    Items with fewer than two ratings cannot be paired, and do not count. Ratings of the levels `ordinal` and `interval`
    are numbers; ordinal differences are those of ranks among all pairable ratings.

    >>> rows = [[1, 1, None], [2, 2, 3], [3, 3, 3], [1, 2, None], [4, 4, 4]]
    >>> print(compute_krippendorff_alpha(rows, "ordinal"))
    alpha 0.89 [0.15, 1.00], 69% of pairs the same, 5 items
    """
    if level not in LEVELS:
        raise UsageError(f"{level!r} is not a level of measurement; choose {', '.join(LEVELS)}.")
    rows = _sort_rows(Counter(row for values in ratings if len(row := _sort_values(values, level)) > 1))
    items = rows.total()
    if items < 2:
        return Agreement("alpha", None, None, items, None, TOO_FEW)
    values = _sort_values({value for row in rows for value in row}, level)
    places = {value: place for place, value in enumerate(values)}
    pairs = np.stack([_compute_coincidences([places[value] for value in row], len(values)) for row in rows])
    counts = np.array(list(rows.values()), dtype=np.float64)

    def alphas(drawn: Floats) -> Floats:
        matrices = np.einsum("rp,pij->rij", drawn, pairs)
        totals = matrices.sum(axis=2)
        distances = _compute_distances(totals, values, level)
        size = totals.sum(axis=1)
        observed = (matrices * distances).sum(axis=(1, 2))
        expected = np.einsum("ri,rj,rij->r", totals, totals, distances) / (size - 1)
        return _compute_ratio(observed, expected)

    matrix = np.einsum("p,pij->ij", counts, pairs)
    same = float(np.trace(matrix) / matrix.sum())
    return _estimate_agreement("alpha", alphas, counts, items, same, resamples, key)


def _sort_rows(rows: Counter[Any]) -> Counter[Any]:
    """The distinct rows in an order of their own, so that the interval does not depend on that of the items."""
    return Counter(dict(sorted(rows.items(), key=repr)))


def _sort_values(values: Iterable[Any], level: Level) -> tuple[Any, ...]:
    """The ratings in an order, which for categories is any."""
    present = [value for value in values if value is not None]
    return tuple(sorted(present, key=str)) if level == "nominal" else tuple(sorted(present))


def _compute_coincidences(row: Sequence[int], size: int) -> Floats:
    """All ordered pairs of an item's ratings by value, divided by the number of ratings minus one."""
    counts = np.bincount(row, minlength=size).astype(np.float64)
    matrix: Floats = (np.outer(counts, counts) - np.diag(counts)) / (len(row) - 1)
    return matrix


def _compute_distances(totals: Floats, values: Sequence[Any], level: Level) -> Floats:
    """The squared differences of values, by Krippendorff's (2011) definitions; a row of `totals` is a resample."""
    size = len(values)
    if level == "nominal":
        return np.broadcast_to(1.0 - np.eye(size), (len(totals), size, size))
    if level == "interval":
        numbers = np.array(values, dtype=np.float64)
        return np.broadcast_to((numbers[:, None] - numbers) ** 2, (len(totals), size, size))
    # The mid-rank of a value; the distance of two is the number of ratings between them, half of the ends included.
    middles = np.cumsum(totals, axis=1) - totals / 2
    differences: Floats = (middles[:, :, None] - middles[:, None, :]) ** 2
    return differences


def _compute_marginals(drawn: Floats, places: NDArray[np.integer], size: int) -> Floats:
    marginals = np.zeros((len(drawn), size))
    for cell, place in enumerate(places):
        marginals[:, place] += drawn[:, cell]
    return marginals


def _compute_ratio(observed: Floats, expected: Floats) -> Floats:
    """1 - observed / expected; not a number where nothing is expected."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values: Floats = 1 - observed / np.where(expected > 0, expected, np.nan)
    return values


def _estimate_agreement(
    name: str, coefficients: Any, counts: Floats, items: int, same: float, resamples: int, key: str
) -> Agreement:
    value = float(coefficients(counts[None, :])[0])
    if np.isnan(value):
        return Agreement(name, None, None, items, same, ALL_ALIKE)
    random = create_generator("reliability", name, key, str(items))
    drawn = random.multinomial(items, counts / counts.sum(), size=resamples).astype(np.float64)
    # In parts, since a resample of alpha is a matrix of values by values.
    found = np.concatenate([coefficients(part) for part in np.array_split(drawn, max(1, resamples // 1000))])
    defined = found[~np.isnan(found)]
    if len(defined) < (1 - _UNDEFINED) * resamples:
        share = 1 - len(defined) / resamples
        return Agreement(name, value, None, items, same, f"it is undefined in {share:.0%} of resamples")
    return Agreement(name, value, compute_percentile_intervals(defined[None, :])[0], items, same)
