"""Agreement of people who decided or rated independently: Cohen's kappa and Krippendorff's alpha.

Both coefficients are 1 - observed disagreement / expected disagreement: 1 is perfect agreement, 0 is agreement by
chance. Intervals are percentile bootstraps over items. A row is the ratings of one item. A resample is drawn from a
multinomial distribution over the distinct rows, which is equivalent to drawing single items, but much faster.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import UsageError
from tiltmeter.measures.bootstrap import RESAMPLES, Floats, Interval, compute_percentile_intervals, create_generator

# The level of measurement. nominal: categories. ordinal: ordered steps. interval: numbers with meaningful differences.
Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")

ALL_ALIKE = "all ratings are the same"
TOO_FEW = "fewer than two items were rated by two people"
# Maximum share of resamples with an undefined coefficient. If the share is larger, no interval is reported.
_MAX_UNDEFINED = 0.05


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient of agreement with its 95% interval; `reason` says why the coefficient or the interval is missing.

    `items` is the number of items with at least two ratings. `observed` is the share of pairs of ratings that are
    equal.
    """

    name: str
    value: float | None
    interval: Interval | None
    items: int
    observed: float | None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the agreement as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the coefficient, its interval and the number of items as one line of text.

        >>> print(Agreement("alpha", 0.6912, (0.41, 0.893), 12, 0.8))
        alpha 0.69 [0.41, 0.89], 80% of pairs equal, 12 items
        """
        if self.value is None:
            return f"{self.name} undefined: {self.reason} ({self.items:,} items)"
        interval = f"(no interval: {self.reason})"
        if self.interval:
            interval = f"[{self.interval[0]:.2f}, {self.interval[1]:.2f}]"
        return f"{self.name} {self.value:.2f} {interval}, {self.observed:.0%} of pairs equal, {self.items:,} items"


def compute_cohen_kappa(
    pairs: Iterable[tuple[object, object]], *, resamples: int = RESAMPLES, key: str = ""
) -> Agreement:
    """Return Cohen's (1960) kappa of two raters. A pair has the two ratings of an item. `key` seeds the bootstrap.

    >>> same = [("keep", "keep")] * 20 + [("drop", "drop")] * 15
    >>> other = [("keep", "drop")] * 5 + [("drop", "keep")] * 10
    >>> print(compute_cohen_kappa(same + other))
    kappa 0.40 [0.14, 0.64], 70% of pairs equal, 50 items
    """
    cells = _sort_rows(Counter(pairs))
    total = cells.total()
    if total < 2:
        return Agreement("kappa", None, None, total, None, TOO_FEW)
    places = {category: place for place, category in enumerate(dict.fromkeys(c for cell in cells for c in cell))}
    first = np.array([places[a] for a, _ in cells])
    second = np.array([places[b] for _, b in cells])
    counts = np.array(list(cells.values()), dtype=np.float64)

    def compute_kappas(drawn: Floats) -> Floats:
        one, other = _compute_marginals(drawn, first, len(places)), _compute_marginals(drawn, second, len(places))
        observed = drawn[:, first == second].sum(axis=1) / total
        expected = (one * other).sum(axis=1) / total**2
        return _compute_ratio(1 - observed, 1 - expected)

    same = float(counts[first == second].sum() / total)
    return _estimate_agreement("kappa", compute_kappas, counts, total, same, resamples, key)


def compute_krippendorff_alpha(
    ratings: Sequence[Sequence[Any]], level: Level = "nominal", *, resamples: int = RESAMPLES, key: str = ""
) -> Agreement:
    """Return Krippendorff's alpha of any number of raters. A row has the ratings of an item; None is a missing rating.

    Items with fewer than two ratings are ignored. Ordinal and interval ratings are numbers; for ordinal ratings, the
    difference of two ratings is the difference of their mid-ranks. `key` seeds the bootstrap.

    >>> rows = [[1, 1, None], [2, 2, 3], [3, 3, 3], [1, 2, None], [4, 4, 4]]
    >>> print(compute_krippendorff_alpha(rows, "ordinal"))
    alpha 0.89 [0.15, 1.00], 69% of pairs equal, 5 items
    """
    if level not in LEVELS:
        raise UsageError(f"{level!r} is not a level of measurement; choose one of {', '.join(LEVELS)}.")
    rows = _sort_rows(Counter(row for values in ratings if len(row := _sort_values(values, level)) > 1))
    items = rows.total()
    if items < 2:
        return Agreement("alpha", None, None, items, None, TOO_FEW)
    values = _sort_values({value for row in rows for value in row}, level)
    places = {value: place for place, value in enumerate(values)}
    pairs = np.stack([_compute_coincidences([places[value] for value in row], len(values)) for row in rows])
    counts = np.array(list(rows.values()), dtype=np.float64)

    def compute_alphas(drawn: Floats) -> Floats:
        matrices = np.einsum("rp,pij->rij", drawn, pairs)
        totals = matrices.sum(axis=2)
        distances = _compute_distances(totals, values, level)
        size = totals.sum(axis=1)
        observed = (matrices * distances).sum(axis=(1, 2))
        expected = np.einsum("ri,rj,rij->r", totals, totals, distances) / (size - 1)
        return _compute_ratio(observed, expected)

    matrix = np.einsum("p,pij->ij", counts, pairs)
    same = float(np.trace(matrix) / matrix.sum())
    return _estimate_agreement("alpha", compute_alphas, counts, items, same, resamples, key)


def _sort_rows(rows: Counter[Any]) -> Counter[Any]:
    """Return the distinct rows in sorted order, so that the interval does not depend on the order of the items."""
    return Counter(dict(sorted(rows.items(), key=repr)))


def _sort_values(values: Iterable[Any], level: Level) -> tuple[Any, ...]:
    present = [value for value in values if value is not None]
    return tuple(sorted(present, key=str)) if level == "nominal" else tuple(sorted(present))


def _compute_coincidences(row: Sequence[int], size: int) -> Floats:
    """Return a matrix that counts the ordered pairs of an item's ratings, divided by the number of ratings minus one.

    The indexes of a cell are the values of the two ratings.
    """
    counts = np.bincount(row, minlength=size).astype(np.float64)
    matrix: Floats = (np.outer(counts, counts) - np.diag(counts)) / (len(row) - 1)
    return matrix


def _compute_distances(totals: Floats, values: Sequence[Any], level: Level) -> Floats:
    """Return the squared differences between values, as defined by Krippendorff (2011), for each resample.

    A row of `totals` is one resample; it has the number of ratings with each value.
    """
    size = len(values)
    if level == "nominal":
        return np.broadcast_to(1.0 - np.eye(size), (len(totals), size, size))
    if level == "interval":
        numbers = np.array(values, dtype=np.float64)
        return np.broadcast_to((numbers[:, None] - numbers) ** 2, (len(totals), size, size))
    # Ordinal ratings: the distance between two values is the difference between their mid-ranks, squared.
    mid_ranks = np.cumsum(totals, axis=1) - totals / 2
    differences: Floats = (mid_ranks[:, :, None] - mid_ranks[:, None, :]) ** 2
    return differences


def _compute_marginals(drawn: Floats, places: NDArray[np.integer], size: int) -> Floats:
    marginals = np.zeros((len(drawn), size))
    for cell, place in enumerate(places):
        marginals[:, place] += drawn[:, cell]
    return marginals


def _compute_ratio(observed: Floats, expected: Floats) -> Floats:
    """Return 1 - `observed` / `expected` for each resample; NaN where `expected` is 0."""
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
    # The resamples are processed in parts to limit memory, because alpha needs a matrix for each resample.
    values = np.concatenate([coefficients(part) for part in np.array_split(drawn, max(1, resamples // 1000))])
    defined = values[~np.isnan(values)]
    if len(defined) < (1 - _MAX_UNDEFINED) * resamples:
        share = 1 - len(defined) / resamples
        return Agreement(name, value, None, items, same, f"undefined in {share:.0%} of resamples")
    return Agreement(name, value, compute_percentile_intervals(defined[None, :])[0], items, same)
