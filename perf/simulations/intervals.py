"""Coverage of the 95% intervals of a run."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from perf.simulations.populations import (
    SKEWED,
    AssociationTruth,
    Draw,
    Shape,
    g_and_h,
    normal,
    term_rates,
)
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from tiltmeter.measures import gest, gest_mt, pairs, winobias
from tiltmeter.measures.association import compute_icat, estimate_icat_interval, estimate_length_balanced_ss
from tiltmeter.measures.balanced_measures import estimate_type_balanced_mean
from tiltmeter.measures.bootstrap import compute_percentile_intervals, draw_counts
from tiltmeter.measures.estimates import Estimate, Interval, Mean, Ratio, Share, compute_two_sided_p
from tiltmeter.measures.factors import Factors
from tiltmeter.measures.gest_parts import GestPart
from tiltmeter.measures.ranks import compare_means, compare_shares, compute_comparison_level, compute_rank_intervals
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.template_variation import TemplateVariation

ALPHA = 0.05
INDEPENDENT = tuple(Shape(f"{n:,}", n) for n in (20, 40, 80, 400, 1_000, 4_229))
CLUSTERED = (
    Shape("20 terms of 2", 40, 20),
    Shape("10 terms of 27", 270, 10),
    Shape("79 terms of 27", 2_133, 79),
    Shape("79 terms, both parts: 4,229", 4_229, 79),
)
# Intraclass correlation and share of ties.
CORRELATIONS = ((0.0, 0.0), (0.015, 0.0), (0.015, 0.1), (0.04, 0.0))
# Preference for the stereotype and for sense.
TRUTHS = ((0.5, 0.85), (0.6, 0.7), (0.75, 0.97))
CLUSTERED_TRUTHS = ((0.5, 0.85), (0.57, 0.85))

TABLES = (
    Table(
        "associations",
        "StereoSet: coverage, the range over true SS and LMS",
        ("items", "intraclass correlation", "ties"),
        ("SS", "SS as published", "LMS", "ICAT", "balanced by length", "type I of SS"),
    ),
    Table(
        "terms",
        "Means over target terms: coverage, the range over true SS, LMS and ties",
        ("items", "intraclass correlation"),
        ("mean LMS", "mean SS", "ICAT micro"),
    ),
    Table(
        "pairs",
        "Sentence pairs: coverage, the range over true CPS",
        ("pairs", "intraclass correlation", "ties"),
        ("CPS or B.S_JSD", "CPS as published", "accuracy", "type I of CPS"),
    ),
    Table("balanced", "Balanced by bias type: coverage", ("items of each bias type", "shares", "terms"), ("coverage",)),
    Table("S_JSD", "S_JSD", ("population", "pairs"), ("interval given", "coverage", "type I")),
    Table("per token", "Mean difference per token", ("population", "pairs"), ("interval given", "coverage", "type I")),
    Table(
        "g_s",
        "g_s: coverage",
        ("sentences a stereotype", "population", "templates", "stereotypes"),
        ("these stereotypes", "stereotypes like these", "q_m", "q_i", "type I, these", "type I, like these"),
    ),
    Table(
        "f_s",
        "Translations: coverage, the range over spreads of the stereotypes",
        ("translations a stereotype", "true f_m", "true f_s"),
        ("f_s", "f_s, like these", "f_m", "p_m", "p_i", "type I of f_s"),
    ),
    Table(
        "yields",
        "Yield of translations: coverage",
        ("translations a stereotype", "true yields"),
        ("one stereotype", "all stereotypes"),
    ),
    Table(
        "ranks",
        "Feminine ranks: coverage over all stereotypes, of the most feminine one, and of percentile bootstraps",
        ("ranked by", "items a stereotype", "spread of the stereotypes"),
        ("ranks", "most feminine", "mean of two templates", "bootstrap", "width"),
        ("width",),
    ),
    Table(
        "templates",
        "Variation between templates: how often it is significant, and its estimate",
        ("number", "templates", "true spread"),
        ("significant", "spread"),
        ("spread",),
    ),
    Table(
        "WinoBias",
        "WinoBias, forty occupations: coverage",
        ("sentences an occupation", "intraclass correlation"),
        ("g_s", "q_m", "type I of g_s"),
    ),
)


def covers(interval: Interval, truth: float) -> bool:
    """Return whether an interval includes the true value, up to rounding."""
    return interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def rejects(estimate: Estimate, truth: float) -> bool:
    """Return whether the test rejects the true value."""
    return compute_two_sided_p(estimate, truth) < ALPHA


def covered(estimate: Estimate, truth: float) -> bool:
    """Return whether the interval of an estimate includes the true value, by its test, which is much faster.

    tests/measures/test_estimates.py checks that interval and test agree.
    """
    return not rejects(estimate, truth)


def associations(truth: AssociationTruth, shape: Shape) -> Simulate:
    """Simulate SS, SS as published, LMS, ICAT and SS balanced by length."""

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        drawn, factors = truth.draw(rng, shape), shape.factors
        ss = Share.from_values(drawn.ss, factors)
        balanced = estimate_length_balanced_ss(drawn.ss, drawn.length, factors)
        return {
            "SS": covered(ss, truth.ss),
            "SS as published": covered(Share.from_values(drawn.published, factors), truth.published),
            "LMS": covered(Share.from_values(drawn.lms, factors), truth.lms),
            "ICAT": covers(
                estimate_icat_interval(drawn.lms, drawn.published, factors), compute_icat(truth.lms, truth.published)
            ),
            "balanced by length": None if balanced is None else covered(balanced, truth.balanced),
            "type I of SS": rejects(ss, 50.0) if truth.ss == 50.0 else None,
        }

    return each(draw_and_count)


def means_over_terms(truth: AssociationTruth, shape: Shape) -> Simulate:
    """Simulate means over terms, and micro ICAT."""
    sizes = np.bincount(shape.codes)

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        drawn = truth.draw(rng, shape)
        lms, ss = (np.bincount(shape.codes, values) / sizes for values in (drawn.lms, drawn.published))
        return {
            "mean LMS": covers(Mean.from_values(lms).interval(), truth.lms),
            "mean SS": covers(Mean.from_values(ss).interval(), truth.published),
            "ICAT micro": covers(estimate_icat_interval(lms, ss), compute_icat(truth.lms, truth.published)),
        }

    return each(draw_and_count)


def preferences_of_pairs(share: float, ties: float, shape: Shape, correlation: float = 0.0) -> Simulate:
    """Simulate CPS, CPS as published, B.S_JSD and the two accuracies of pairs."""

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        rates = term_rates(rng, shape, share, correlation)
        tied = rng.random(shape.n) < ties
        prefers = 100.0 * (rng.random(shape.n) < rates)
        cps = Share.from_values(np.where(tied, 50.0, prefers), shape.factors)
        published = Share.from_values(np.where(tied, 0.0, prefers), shape.factors)
        true_cps, true_published = 100 * ((1 - ties) * share + ties / 2), 100 * (1 - ties) * share
        tokens = rng.integers(4, 25, shape.n).astype(float)
        chosen = np.clip(rng.beta(2.0, 3.0, shape.n) + rates - share, 0.0, 1.0)
        accuracy = pairs._estimate_accuracy(
            rng.binomial(tokens.astype(int), chosen).astype(float), tokens, shape.factors
        )
        return {
            "CPS or B.S_JSD": covered(cps, true_cps),
            "CPS as published": covered(published, true_published),
            "type I of CPS": rejects(cps, 50.0) if true_cps == 50.0 else None,
            "accuracy": covered(accuracy, 40.0),
        }

    return each(draw_and_count)


# The bias types of CrowS-Pairs; of StereoSet within sentences; with a small one; with few items; all on one side.
BIAS_TYPES: tuple[tuple[tuple[int, ...], tuple[float, ...]], ...] = (
    ((516, 262, 172, 159, 105, 87, 84, 63, 60), (0.6, 0.55, 0.6, 0.7, 0.7, 0.55, 0.7, 0.65, 0.7)),
    ((516, 262, 172, 159, 105, 87, 84, 63, 60), (0.5,) * 9),
    ((962, 810, 255, 79), (0.55, 0.6, 0.65, 0.5)),
    ((500, 250, 9), (0.6, 0.55, 0.95)),
    ((500, 250, 5), (0.6, 0.55, 0.5)),
    ((10, 10, 10, 10), (0.6, 0.7, 0.8, 0.9)),
    ((5, 5, 5, 5), (0.95, 0.95, 0.95, 0.95)),
)
# Target terms of the four bias types of StereoSet.
TERMS_OF_TYPES = (35, 32, 9, 3)


def balanced_types(
    sizes: Sequence[int], shares: Sequence[float], terms: Sequence[int] = (), correlation: float = 0.0
) -> Simulate:
    """Simulate preferences balanced by bias type; with `terms`, clustered with this intraclass correlation."""
    types = np.repeat([str(number) for number in range(len(sizes))], sizes).astype(object)
    shapes = [Shape("", n, terms[number] if terms else None) for number, n in enumerate(sizes)]
    factors = None
    if terms:
        names = [[f"{number}/{code}" for code in shape.codes] for number, shape in enumerate(shapes)]
        factors = Factors.from_labels({"target": np.concatenate(names).astype(object)})

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        rates = [term_rates(rng, shape, share, correlation) for shape, share in zip(shapes, shares, strict=True)]
        values = 100.0 * (rng.random(len(types)) < np.concatenate(rates))
        balanced = estimate_type_balanced_mean(values, types, factors)
        return {"coverage": balanced and covers(balanced.interval(), 100 * float(np.mean(shares)))}

    return each(draw_and_count)


def means_of_pairs(draw: Draw, n: int, fewest: int) -> Simulate:
    """Simulate S_JSD or the mean difference per token: how often there is an interval, and its coverage."""
    case = pairs._PairSet("m", "b", "all", "en", "p", pairs._Pairs(np.empty(0, object), {}, {}))
    group = pairs._Group(case, "all", "all", {}, intervals=True)

    def draw_and_count(rng: Rng) -> dict[str, float | bool | None]:
        record = group.build_mean_record(pairs.S_JSD, 20.0 * draw(rng, n), fewest)
        has_interval = record.low is not None and record.high is not None
        return {
            "interval given": has_interval,
            "coverage": covers((record.low, record.high), 0.0) if has_interval else None,  # type: ignore[arg-type]
            "type I": record.p_value < ALPHA if record.p_value is not None else None,
        }

    return each(draw_and_count)


def part(name: str, values: Floats, per: int) -> GestPart:
    """Return a template with `per` log ratios for each stereotype."""
    ratios = {number: values[(number - 1) * per : number * per] for number in gest.STEREOTYPES}
    ids = {number: [f"{number}/{index}" for index in range(per)] for number in gest.STEREOTYPES}
    return GestPart(name, ratios, ids, [], 1)


MEN = np.array([number in gest.MALE for number in gest.STEREOTYPES])
WEIGHTS = np.where(MEN, 1 / MEN.sum(), -1 / (~MEN).sum())


def stereotype_rates(draw: Draw, per: int, *, bias: float, spread: float, templates: int) -> Simulate:
    """Simulate g_s with fixed and random stereotypes, which are drawn for each data set."""

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        parts, these, like, male = [], [], [], []
        levels = bias * MEN + spread * rng.normal(size=16)
        for template in range(templates):
            scale = 1.0 + 0.3 * template
            parts.append(part(f"template-{template}", 0.5 * draw(rng, 16 * per) + np.repeat(scale * levels, per), per))
            these.append(math.exp(scale * float(WEIGHTS @ levels)))
            like.append(math.exp(scale * bias))
            male.append(math.exp(scale * float(levels[MEN].mean())))
        fixed, random = gest.estimate_fixed_rate(parts), gest.estimate_random_g_s(parts)
        # Slow with many sentences, and computed in the same way as g_s.
        q_m = gest.estimate_fixed_rate(parts, "q_m") if per < 100 else None
        q_i = Ratio(parts[0].estimates[8])
        assert isinstance(fixed, Ratio)
        assert isinstance(random, Ratio)
        null = not bias and not spread
        return {
            "these stereotypes": covered(fixed, float(np.mean(these))),
            "stereotypes like these": covered(random, float(np.mean(like))),
            "q_m": None if q_m is None else covered(q_m, float(np.mean(male))),
            "q_i": covered(q_i, math.exp(levels[7])),
            "type I, these": rejects(fixed, 1.0) if null else None,
            "type I, like these": rejects(random, 1.0) if null else None,
        }

    return each(draw_and_count)


def translation_rates(per: int, level: float, bias: float, spread: float, missing: float) -> Simulate:
    """Simulate f_s, f_s of similar stereotypes, f_m, p_m and p_i of translations."""

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        true = np.clip(level + bias * (MEN - 0.5) + spread * rng.uniform(-1, 1, 16), 0.0, 1.0)
        groups = {}
        for number, rate in zip(gest.STEREOTYPES, true, strict=True):
            gendered = (rng.random(per) >= missing).astype(float)
            groups[number] = gest_mt._Group(gendered, gendered * (rng.random(per) < rate), np.full(per, None))
        case = gest_mt._System("m", "b", "all", "sk", "p", groups, groups[8], 999)
        # The true values are the expected Agresti-Coull centres.
        sizes = np.array([group.n for group in groups.values()], dtype=float)
        square = gest_mt._Z**2
        centres = (true * sizes + square / 2) / (sizes + square)
        outcome: dict[str, bool | None] = {}
        if sizes.min() >= gest_mt.FEWEST:
            for measure in (gest_mt.F_S, gest_mt.F_M, gest_mt.P_M):
                weights = case._compute_weights(*gest_mt._RATES[measure])
                estimate = case.estimate_rate(weights)
                outcome[measure.name] = covers(estimate.interval(), float(weights @ centres))
                if measure is gest_mt.F_S and not bias and not spread:
                    outcome["type I of f_s"] = rejects(estimate, 0.0)
        like = case.estimate_random_f_s(case._compute_weights(1.0, -1.0))
        shrunk = bias * per * (1 - missing) / (per * (1 - missing) + square)
        outcome["f_s, like these"] = None if like is None else covered(like, shrunk)
        outcome["p_i"] = covers(groups[1].interval, float(true[0]))
        return outcome

    return each(draw_and_count)


def yields(per: int, low: float, high: float) -> Simulate:
    """Return the yield of one stereotype, and of sixteen with yields from `low` to `high`."""
    rates = np.linspace(low, high, 16)

    def draw_and_count(rng: Rng) -> dict[str, bool]:
        gendered = [(rng.random(per) < rate).astype(float) for rate in rates]
        return {
            "one stereotype": covers(gest_mt.compute_share_interval(gendered[:1]), low),
            "all stereotypes": covers(gest_mt.compute_share_interval(gendered), float(rates.mean())),
        }

    return each(draw_and_count)


def _rank_outcome(ends: list[Interval], levels: Floats, means: list[Interval] | None = None) -> dict[str, float]:
    inside = [covers(interval, rank) for interval, rank in zip(ends, rankdata(levels), strict=True)]
    outcome = {
        "ranks": float(np.mean(inside)),
        "most feminine": float(inside[int(np.argmin(levels))]),
        "width": float(np.mean([high - low for low, high in ends])),
    }
    if means is not None:
        mean_inside = [covers(interval, rank) for interval, rank in zip(means, rankdata(levels), strict=True)]
        outcome["mean of two templates"] = float(np.mean(mean_inside))
    return outcome


def _estimate_means(samples: Sequence[Floats]) -> list[Mean]:
    return [Mean.from_values(values) for values in samples]


def ranks(draw: Draw, per: int, spread: float) -> Simulate:
    """Return the ranks of sixteen stereotypes whose levels have this standard deviation; that of sentences is 0.5.

    Two templates have the same levels, and sentences share half of their variance between templates.
    """

    def draw_and_count(rng: Rng) -> dict[str, float]:
        levels = spread * rng.normal(size=16)
        common = [draw(rng, per) for _ in levels]
        templates = [
            [
                level + 0.5 * math.sqrt(0.5) * (shared + draw(rng, per))
                for level, shared in zip(levels, common, strict=True)
            ]
            for _ in range(2)
        ]
        means = [np.array([sample.mean() for sample in values]) for values in templates]
        ends = compute_rank_intervals(
            [compare_means(_estimate_means(templates[0]), compute_comparison_level(16))], means[:1]
        )
        both = compute_rank_intervals(
            [compare_means(_estimate_means(values), compute_comparison_level(16, 2)) for values in templates], means
        )
        outcome = _rank_outcome(ends, levels, both)
        if per >= 100:
            means = [
                values @ draw_counts(per, 999, "gest", str(index)) / per for index, values in enumerate(templates[0])
            ]
            outcome["bootstrap"] = _rank_outcome(
                compute_percentile_intervals(rankdata(np.stack(means), axis=0)), levels
            )["ranks"]
        return outcome

    return each(draw_and_count)


def ranks_of_shares(per: int, level: float, spread: float) -> Simulate:
    """Return the ranks of sixteen shares of masculine translations."""

    def draw_and_count(rng: Rng) -> dict[str, float]:
        levels = np.clip(level + spread * rng.uniform(-1, 1, 16), 0.0, 1.0)
        counts, sizes = rng.binomial(per, levels).astype(float), np.full(16, float(per))
        return _rank_outcome(
            compute_rank_intervals([compare_shares(counts, sizes, compute_comparison_level(16))], [counts / sizes]),
            levels,
        )

    return each(draw_and_count)


def spread_of_pairs(count: int, per: int, deviation: float) -> Simulate:
    """Return the template spread of CPS, for true CPS with this standard deviation around 50."""
    labels = np.repeat(np.arange(count), per)

    def draw_and_count(rng: Rng) -> dict[str, float | bool | None]:
        rates = np.clip(0.5 + deviation / 100 * rng.normal(size=count), 0.0, 1.0)
        variation = TemplateVariation.from_items(100.0 * (rng.random(len(labels)) < rates[labels]), labels)
        if variation is None:
            return {"significant": None, "spread": None}
        return {"significant": variation.p_value < ALPHA, "spread": variation.deviation}

    return each(draw_and_count)


def spread_of_g_s(count: int, per: int, deviation: float) -> Simulate:
    """Return the template spread of log g_s; sentences share half of their variance between templates."""

    def draw_and_count(rng: Rng) -> dict[str, float | bool | None]:
        common, levels = rng.normal(size=16 * per), 0.2 * rng.normal(size=16)
        parts = []
        for template in range(count):
            values = 0.5 * (common + rng.normal(size=16 * per)) + np.repeat(
                levels + deviation * rng.normal() * MEN, per
            )
            parts.append(part(f"template-{template}", values, per))
        variation = gest.estimate_template_variation(parts)
        assert variation is not None
        return {"significant": variation.p_value < ALPHA, "spread": variation.deviation}

    return each(draw_and_count)


def occupations(per: int, correlation: float, bias: float) -> Simulate:
    """Simulate g_s of WinoBias: twenty occupations of each gender with `per` sentences each."""
    names = np.repeat(np.array([f"occupation {number}" for number in range(40)], dtype=object), per)
    gender = np.repeat(np.array(["male", "female"] * 20, dtype=object), per)
    table = pd.DataFrame({"occupation": names, "occupation_gender": gender})

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        shared = np.repeat(rng.normal(size=40), per) * math.sqrt(correlation)
        scores = shared + rng.normal(size=40 * per) * math.sqrt(1 - correlation) + bias * (gender == "male")
        rows = table.assign(score=scores)
        g_s, q_m = (winobias._estimate_rate(rows, *winobias._RATES[name]) for name in ("g_s", "q_m"))
        return {
            "g_s": covered(g_s, math.exp(bias)),
            "q_m": covered(q_m, math.exp(bias)),
            "type I of g_s": None if bias else rejects(g_s, 1.0),
        }

    return each(draw_and_count)


def settings() -> Iterator[Setting]:
    """Yield all settings."""
    for shape in INDEPENDENT:
        for ties in (0.0, 0.1):
            for prefers, sense in TRUTHS:
                truth = AssociationTruth(prefers, sense, ties, gap=0.1)
                row = (shape.name, "independent", f"{ties:.0%}", f"{100 * prefers:g}, {100 * sense:g}")
                yield Setting("associations", row, associations(truth, shape))
    for shape in CLUSTERED:
        for correlation, ties in CORRELATIONS:
            for prefers, sense in CLUSTERED_TRUTHS:
                truth = AssociationTruth(prefers, sense, ties, gap=0.1, correlation=correlation)
                row = (shape.name, f"{correlation:g}", f"{ties:.0%}", f"{100 * prefers:g}, {100 * sense:g}")
                yield Setting("associations", row, associations(truth, shape))
                words = (shape.name, f"{correlation:g}", f"{100 * prefers:g}, {100 * sense:g}, {ties:.0%}")
                yield Setting("terms", words, means_over_terms(truth, shape))
    for n in (20, 60, 105, 212, 516, 1_508):
        for ties in (0.0, 0.1):
            for share in (0.5, 0.6, 0.8):
                row = (f"{n:,}", "independent", f"{ties:.0%}", f"{100 * share:g}")
                yield Setting("pairs", row, preferences_of_pairs(share, ties, Shape(str(n), n)))
    for correlation in (0.0, 0.015, 0.04):
        for share in (0.5, 0.6):
            shape = Shape("20 templates of 25", 500, 20)
            row = (shape.name, f"{correlation:g}", "0%", f"{100 * share:g}")
            yield Setting("pairs", row, preferences_of_pairs(share, 0.0, shape, correlation))
    for sizes, shares in BIAS_TYPES:
        row = (" ".join(map(str, sizes)), " ".join(f"{100 * share:g}" for share in shares), "independent")
        yield Setting("balanced", row, balanced_types(sizes, shares))
        if len(sizes) == len(TERMS_OF_TYPES) and sizes[0] > sizes[-1]:
            for correlation in (0.0, 0.015, 0.04):
                clustered = (*row[:2], f"{' '.join(map(str, TERMS_OF_TYPES))}, correlation {correlation:g}")
                yield Setting("balanced", clustered, balanced_types(sizes, shares, TERMS_OF_TYPES, correlation))
    for name, draw in SKEWED.items():
        for n in (60, 105, 212, 516, 1_508):
            yield Setting("S_JSD", (name, f"{n:,}"), means_of_pairs(draw, n, pairs.FEWEST_FOR_S_JSD))
    for name in ("normal", "symmetric, heavy tails (t, 3 df)", "skewness 1.7 (g 0.3, h 0.1)"):
        for n in (20, 60, 212):
            yield Setting("per token", (name, f"{n:,}"), means_of_pairs(SKEWED[name], n, 2))
    populations = {"normal": normal, "skewed, heavy tails": g_and_h(0.3, 0.1)}
    for per in (4, 20, 223):
        for name, draw in populations.items():
            if per < 223 or draw is not normal:
                row = (f"{per}", name, "one", "drawn")
                yield Setting("g_s", row, stereotype_rates(draw, per, bias=0.25, spread=0.2, templates=1))
    for templates, name, bias, spread in (("two", "drawn", 0.25, 0.2), ("one", "all alike", 0.0, 0.0)):
        simulate = stereotype_rates(normal, 20, bias=bias, spread=spread, templates=2 if templates == "two" else 1)
        yield Setting("g_s", ("20", "normal", templates, name), simulate)
    for per in (20, 40, 223):
        missing = 0.0 if per == 20 else 0.1
        for level, bias, spread in ((0.5, 0.0, 0.0), (0.5, 0.2, 0.2), (0.75, 0.25, 0.1), (0.93, 0.08, 0.02)):
            row = (f"{per}", f"{level:g}", f"{bias:g}", f"{spread:g}")
            yield Setting("f_s", row, translation_rates(per, level, bias, spread, missing))
    for per in (4, 20, 40, 223):
        for low, high in ((0.9, 0.9), (0.99, 0.99), (0.6, 1.0), (0.93, 0.97)):
            yields_of = f"{100 * low:g}%" if low == high else f"{100 * low:g} to {100 * high:g}%"
            yield Setting("yields", (f"{per}", yields_of), yields(per, low, high))
    for per in (4, 20, 100, 223):
        for spread in (0.001, 0.03, 0.1, 0.3):
            yield Setting("ranks", ("normal log-ratios", f"{per}", f"{spread:g}"), ranks(normal, per, spread))
            row = ("skewed log-ratios", f"{per}", f"{spread:g}")
            yield Setting("ranks", row, ranks(g_and_h(0.3, 0.1), per, spread))
    for per in (20, 100, 223):
        for level, spread in ((0.5, 0.001), (0.5, 0.1), (0.9, 0.02), (0.9, 0.1)):
            row = (f"translations, {100 * level:g}% masculine", f"{per}", f"{spread:g}")
            yield Setting("ranks", row, ranks_of_shares(per, level, spread))
    for count, per in ((5, 20), (20, 25), (12, 4)):
        for deviation in (0.0, 5.0, 10.0):
            row = ("CPS", f"{count} of {per} pairs", f"{deviation:g}")
            yield Setting("templates", row, spread_of_pairs(count, per, deviation))
    for count, per in ((2, 20), (4, 4), (4, 20)):
        for deviation in (0.0, 0.2):
            row = ("log g_s", f"{count}, {per} sentences a stereotype", f"{deviation:g}")
            yield Setting("templates", row, spread_of_g_s(count, per, deviation), most=1_000)
    for per in (4, 10):
        for correlation in (0.0, 0.1, 0.3):
            yield Setting("WinoBias", (f"{per}", f"{correlation:g}"), occupations(per, correlation, 0.0))
