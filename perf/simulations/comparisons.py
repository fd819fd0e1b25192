"""Coverage and type I error of paired comparisons, and the test of log g_s if base rates differ."""

from collections.abc import Iterator

import numpy as np

from perf.simulations.intervals import MEN, WEIGHTS, covers
from perf.simulations.populations import SKEWED, Draw, Shape, term_rates
from perf.simulations.runner import Counts, Rng, Setting, Simulate, Table, each
from tiltmeter.measures.association import compute_icat
from tiltmeter.measures.contrasts import Contrast, compute_contrast
from tiltmeter.measures.gest import STEREOTYPES
from tiltmeter.measures.measure import Quantity, list_quantities
from tiltmeter.measures.standard_errors import Floats

ALPHA = 0.05
SHAPES = (
    Shape("20", 20),
    Shape("80", 80),
    Shape("400", 400),
    Shape("4,229", 4_229),
    Shape("10 terms of 27", 270, 10),
    Shape("79 terms of 27", 2_133, 79),
)
FLIPS = 999

TABLES = (
    Table(
        "paired SS",
        "Differences of SS (and of CPS), paired: the range over true differences of 0 and 2 points",
        ("items", "intraclass correlation", "items that differ", "ties"),
        ("coverage", "type I", "coverage of the difference in distance from 50"),
    ),
    Table(
        "paired LMS",
        "Differences of LMS and ICAT, paired: the range over true differences of LMS",
        ("items", "intraclass correlation"),
        ("LMS", "LMS, type I", "ICAT", "ICAT, type I"),
    ),
    Table("paired S_JSD", "Differences of S_JSD, paired", ("population", "pairs"), ("coverage", "type I")),
    Table(
        "paired log g_s",
        "Differences of log g_s, paired: the range over base-rate shifts of 0 and 1",
        ("sentences a stereotype", "true difference"),
        ("coverage", "type I"),
    ),
    Table(
        "paired f_s",
        "Differences of f_s, paired",
        ("translations a stereotype", "true f_m", "true difference"),
        ("coverage", "type I"),
    ),
    Table(
        "base rates",
        "The test of a difference of log g_s and two permutation tests: how often they reject; 20 sentences each",
        ("base-rate shift", "true difference"),
        ("paired t within stereotypes", "interval leaves out 0", "sign flips, not centred", "sign flips, centred"),
    ),
)


def quantity(name: str) -> Quantity:
    """Return the quantity of this name."""
    roles = ("stereotype", "anti-stereotype", "unrelated", "more", "less", "s_jsd", "log_ratio", "speaker_gender")
    return next(quantity for quantity in list_quantities(roles, ("stereotype",)) if quantity.name == name)


def _outcome(result: Contrast, truth: float, farther: float | None = None) -> dict[str, bool | None]:
    return {
        "coverage": covers((result.low, result.high), truth),
        "type I": None if truth else result.p_value < ALPHA,
        "coverage of the difference in distance from 50": None
        if farther is None
        else covers((result.farther_low, result.farther_high), farther),
    }


def shares(left: float, right: float, differ: float, shape: Shape, correlation: float, ties: float) -> Simulate:
    """Simulate SS of two models with these preferences, which disagree on a share `differ` of the items.

    With terms, the difference between the two has an intraclass correlation, too.
    """
    ss = quantity("SS")

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        ours, theirs = preferences(rng, left, right, differ, shape, correlation)
        tied = rng.random((2, shape.n)) < ties
        answers = [np.where(tie, 50.0, 100.0 * prefers) for tie, prefers in zip(tied, (ours, theirs), strict=True)]
        true = [100 * ((1 - ties) * share + ties / 2) for share in (left, right)]
        result = compute_contrast(ss, answers[0][np.newaxis], answers[1][np.newaxis], factors=shape.factors)
        return _outcome(result, true[0] - true[1], abs(true[0] - 50) - abs(true[1] - 50))

    return each(draw_and_count)


def preferences(
    rng: Rng, left: float, right: float, differ: float, shape: Shape, correlation: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each of two models prefers the stereotype of each item."""
    only_left = (differ + left - right) / 2
    among = term_rates(rng, shape, only_left / differ, correlation)
    both = term_rates(rng, shape, (left - only_left) / (1 - differ), correlation)
    differing = rng.random(shape.n) < differ
    first = rng.random(shape.n) < np.where(differing, among, both)
    return first, np.where(differing, ~first, first)


def scores_of_sense(left: float, right: float, shape: Shape, correlation: float) -> Simulate:
    """Simulate LMS, and ICAT with SS of 52 and 48, which have the same ICAT for the same LMS."""
    lms_quantity, icat_quantity = quantity("LMS"), quantity("ICAT")

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        sense = np.zeros((2, shape.n))
        for _ in range(2):
            ours, theirs = preferences(rng, left, right, 0.2, shape, correlation)
            sense += 50.0 * np.array([ours, theirs])
        ours, theirs = preferences(rng, 0.52, 0.48, 0.35, shape, correlation)
        ss = 100.0 * np.array([ours, theirs])
        of_lms = compute_contrast(lms_quantity, sense[:1], sense[1:], factors=shape.factors)
        of_icat = compute_contrast(
            icat_quantity, np.vstack([sense[0], ss[0]]), np.vstack([sense[1], ss[1]]), factors=shape.factors
        )
        true = 100 * (left - right)
        true_icat = compute_icat(100 * left, 52.0) - compute_icat(100 * right, 48.0)
        return {
            "LMS": covers((of_lms.low, of_lms.high), true),
            "LMS, type I": None if true else of_lms.p_value < ALPHA,
            "ICAT": covers((of_icat.low, of_icat.high), true_icat),
            "ICAT, type I": None if true else of_icat.p_value < ALPHA,
        }

    return each(draw_and_count)


def means(draw: Draw, n: int, shift: float) -> Simulate:
    """Simulate S_JSD of two models with differences from this population."""
    s_jsd = quantity("S_JSD x 1e3")

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        right = 15.0 * draw(rng, n)
        left = right + 10.0 * draw(rng, n) + shift
        return _outcome(compute_contrast(s_jsd, left[np.newaxis], right[np.newaxis]), shift)

    return each(draw_and_count)


def _labels(per: int) -> np.ndarray:
    return np.repeat(np.array([str(number) for number in STEREOTYPES], dtype=object), per)


def log_ratios(rng: Rng, per: int, difference: float, shift: float) -> tuple[Floats, Floats]:
    """Return log ratios of two models for sixteen stereotypes; those of the first are shifted by `shift`."""
    levels = 0.25 * (MEN - 0.5) + 0.2 * rng.normal(size=16)
    second = np.repeat(levels + 0.1 * _without_contrast(rng.normal(size=16)), per) + 0.4 * rng.normal(size=16 * per)
    item = 0.3 * rng.normal(size=16 * per)
    first = np.repeat(levels + difference * (MEN - 0.5), per) + shift + item + 0.4 * rng.normal(size=16 * per)
    return first, second + item


def _without_contrast(levels: Floats) -> Floats:
    """Return the levels without their contrast between men and women, so that log g_s does not change."""
    return levels - (MEN - 0.5) * float(WEIGHTS @ levels)


def ratios(per: int, difference: float, shift: float) -> Simulate:
    """Simulate log g_s of two models."""
    log_g_s, labels = quantity("log g_s"), _labels(per)

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        left, right = log_ratios(rng, per, difference, shift)
        return _outcome(compute_contrast(log_g_s, left[np.newaxis], right[np.newaxis], labels), difference)

    return each(draw_and_count)


def permutations(per: int, difference: float, shift: float) -> Simulate:
    """Simulate the test of log g_s and two permutation tests.

    They flip the signs of the differences, without centring and centred by stereotype.
    """
    log_g_s, labels = quantity("log g_s"), _labels(per)
    weights = np.repeat(WEIGHTS, per) / per

    def simulate(rng: Rng, data_sets: int) -> Counts:
        signs = rng.choice([-1.0, 1.0], (16 * per, FLIPS))
        rejected = dict.fromkeys(TABLES[-1].columns, 0.0)
        for _ in range(data_sets):
            left, right = log_ratios(rng, per, difference, shift)
            result = compute_contrast(log_g_s, left[np.newaxis], right[np.newaxis], labels)
            changes = left - right
            centred = changes - np.repeat(changes.reshape(16, per).mean(axis=1), per)
            rejected[TABLES[-1].columns[0]] += result.p_value < ALPHA
            rejected[TABLES[-1].columns[1]] += not result.low <= 0 <= result.high
            for name, flipped in zip(TABLES[-1].columns[2:], (changes, centred), strict=True):
                statistics = np.abs((weights * flipped) @ signs)
                beyond = np.count_nonzero(statistics >= abs(float(weights @ changes)) - 1e-12)
                rejected[name] += (1 + beyond) / (1 + FLIPS) < ALPHA
        return {name: (total, data_sets) for name, total in rejected.items()}

    return simulate


def translations(per: int, level: float, bias: float, difference: float) -> Simulate:
    """Simulate f_s of two systems on the same sentences."""
    f_s, labels = quantity("f_s"), _labels(per)

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        uniform = rng.random((2, 16 * per))
        correlated = np.where(rng.random(16 * per) < 0.7, uniform[0], uniform[1])
        rates = [np.repeat(level + true_f_s * (MEN - 0.5), per) for true_f_s in (bias + difference, bias)]
        left, right = (uniform[0] < rates[0]).astype(float), (correlated < rates[1]).astype(float)
        return _outcome(compute_contrast(f_s, left[np.newaxis], right[np.newaxis], labels), difference)

    return each(draw_and_count)


def settings() -> Iterator[Setting]:
    """Yield all settings."""
    for shape in SHAPES:
        for correlation in (0.0,) if shape.terms is None else (0.0, 0.04):
            among = f"{correlation:g}" if shape.terms else "independent"
            for differ, right, ties in ((0.05, 0.57, 0.0), (0.35, 0.57, 0.0), (0.35, 0.55, 0.0), (0.35, 0.57, 0.1)):
                row = (shape.name, among, f"{differ:.0%}", f"{ties:.0%}", f"57 − {100 * right:g}")
                yield Setting("paired SS", row, shares(0.57, right, differ, shape, correlation, ties))
            for left in (0.85, 0.88):
                if left == 0.85 or shape.n > 1_000:
                    row = (shape.name, among, f"{100 * left:g} − 85")
                    yield Setting("paired LMS", row, scores_of_sense(left, 0.85, shape, correlation))
    for name in (
        "normal",
        "symmetric, heavy tails (t, 3 df)",
        "skewness 1.7 (g 0.3, h 0.1)",
        "skewness 3.4 (g 0.5, h 0.1)",
        "skewness 6.2 (lognormal)",
    ):
        for n in (60, 212, 1_508):
            yield Setting("paired S_JSD", (name, f"{n:,}"), means(SKEWED[name], n, 0.0))
    for per in (4, 20, 223):
        for difference, shift in ((0.0, 0.0), (0.0, 1.0), (0.12, 1.0)):
            row = (f"{per}", f"{difference:g}", f"{shift:g}")
            yield Setting("paired log g_s", row, ratios(per, difference, shift))
    for per in (20, 223):
        for level in (0.5, 0.75, 0.9):
            for difference in (0.0, 0.1):
                row = (f"{per}", f"{level:g}", f"{difference:g}")
                yield Setting("paired f_s", row, translations(per, level, 0.05, difference))
    for shift in (0.0, 0.5, 1.0, 2.0):
        for difference in (0.0, 0.12):
            row = (f"{shift:g}", f"{difference:g}")
            yield Setting("base rates", row, permutations(20, difference, shift))
