"""Coverage of the 95% intervals that a run prints."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from perf.simulations.populations import SKEWED, AssociationTruth, Draw, Shape, g_and_h, normal, term_rates
from perf.simulations.runner import Rng, Setting, Simulate, each
from tiltmeter.measures import gest, gest_mt, pairs, winobias
from tiltmeter.measures.association import balanced_by_length, icat, icat_interval
from tiltmeter.measures.estimates import Estimate, Interval, Mean, Ratio, Share, two_sided
from tiltmeter.measures.standard_errors import Floats

ALPHA = 0.05
INDEPENDENT = tuple(Shape(f"{n:,}", n) for n in (20, 40, 80, 200, 400, 1_000, 2_106, 4_229))
CLUSTERED = (
    Shape("20 terms of 2", 40, 20),
    Shape("10 terms of 27", 270, 10),
    Shape("79 terms of 27", 2_133, 79),
    Shape("79 terms, both parts (4,229)", 4_229, 79),
)
CORRELATIONS = (0.0, 0.015, 0.04)
# Preference for the stereotype and for sense.
TRUTHS = ((0.5, 0.85), (0.55, 0.9), (0.6, 0.7), (0.75, 0.97))
CLUSTERED_TRUTHS = ((0.5, 0.85), (0.57, 0.85))


def covers(interval: Interval, truth: float) -> bool:
    """Whether an interval holds the truth; sums of equal numbers differ in their last digit."""
    return interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def rejects(estimate: Estimate, truth: float) -> bool:
    """Whether the test rejects the truth."""
    return two_sided(estimate, truth) < ALPHA


def associations(truth: AssociationTruth, shape: Shape) -> Simulate:
    """SS, SS as published, LMS, ICAT, SS balanced by length; with terms, the means over them and ICAT micro."""

    def one(rng: Rng) -> dict[str, bool | None]:
        drawn, labels = truth.draw(rng, shape), shape.labels
        ss = Share.of(drawn.ss, labels)
        balanced = balanced_by_length(drawn.ss, drawn.length, labels)
        found: dict[str, bool | None] = {
            "SS": covers(ss.interval(), truth.ss),
            "SS as published": covers(Share.of(drawn.published, labels).interval(), truth.published),
            "LMS": covers(Share.of(drawn.lms, labels).interval(), truth.lms),
            "ICAT": covers(icat_interval(drawn.lms, drawn.published, labels), icat(truth.lms, truth.published)),
            "SS balanced by length": None if balanced is None else covers(balanced.interval(), truth.balanced),
            "test of SS": rejects(ss, 50.0) if truth.ss == 50.0 else None,
            "test of SS balanced": None if balanced is None else rejects(balanced, truth.balanced),
        }
        if shape.terms is None:
            return found
        sizes = np.bincount(shape.codes)
        by_term = [np.bincount(shape.codes, values) / sizes for values in (drawn.lms, drawn.published)]
        lms, published = (Mean.of(values) for values in by_term)
        return found | {
            "mean LMS over terms": covers(lms.interval(), truth.lms),
            "mean SS over terms": covers(published.interval(), truth.published),
            "ICAT micro": covers(icat_interval(*by_term), icat(truth.lms, truth.published)),
        }

    return each(one)


def preferences_of_pairs(share: float, ties: float, shape: Shape, correlation: float = 0.0) -> Simulate:
    """CPS, CPS as published, B.S_JSD and the two accuracies of pairs."""

    def one(rng: Rng) -> dict[str, bool | None]:
        rates = term_rates(rng, shape, share, correlation)
        tied = rng.random(shape.n) < ties
        prefers = 100.0 * (rng.random(shape.n) < rates)
        cps = Share.of(np.where(tied, 50.0, prefers), shape.labels)
        published = Share.of(np.where(tied, 0.0, prefers), shape.labels)
        true_cps, true_published = 100 * ((1 - ties) * share + ties / 2), 100 * (1 - ties) * share
        tokens = rng.integers(4, 25, shape.n).astype(float)
        chosen = np.clip(rng.beta(2.0, 3.0, shape.n) + rates - share, 0.0, 1.0)
        accuracy = pairs._accuracy(rng.binomial(tokens.astype(int), chosen).astype(float), tokens, shape.labels)
        return {
            "CPS": covers(cps.interval(), true_cps),
            "CPS as published": covers(published.interval(), true_published),
            "test of CPS": rejects(cps, 50.0) if true_cps == 50.0 else None,
            "accuracy": covers(accuracy.interval(), 40.0),
        }

    return each(one)


def means_of_pairs(draw: Draw, n: int, fewest: int) -> Simulate:
    """S_JSD and the mean difference per token: the interval where one is given, and how often one is."""
    case = pairs._Case("m", "b", "all", "en", "p", pairs._Pairs(np.empty(0, object), {}, {}))
    group = pairs._Group(case, "all", "all", {}, intervals=True)

    def one(rng: Rng) -> dict[str, float | bool | None]:
        record = group.mean(pairs.S_JSD, 20.0 * draw(rng, n), fewest)
        given = record.low is not None and record.high is not None
        return {
            "given": given,
            "coverage": covers((record.low, record.high), 0.0) if given else None,  # type: ignore[arg-type]
            "type I": record.p_value < ALPHA if record.p_value is not None else None,
        }

    return each(one)


def _part(name: str, values: Floats, per: int) -> "gest._Part":
    """A template's log-ratios, as many for each stereotype."""
    ratios = {number: values[(number - 1) * per : number * per] for number in gest.STEREOTYPES}
    ids = {number: [f"{number}/{place}" for place in range(per)] for number in gest.STEREOTYPES}
    return gest._Part(name, ratios, ids, np.empty(0), 1)


MEN = np.array([number in gest.MALE for number in gest.STEREOTYPES])
WEIGHTS = np.where(MEN, 1 / MEN.sum(), -1 / (~MEN).sum())


def stereotype_rates(draw: Draw, per: int, deviation: float, *, bias: float, spread: float, templates: int) -> Simulate:
    """g_s, both of these stereotypes and of stereotypes like them, for stereotypes that are drawn anew each time."""

    def one(rng: Rng) -> dict[str, bool | None]:
        parts, these, like = [], [], []
        levels = bias * MEN + spread * rng.normal(size=16)
        for template in range(templates):
            scale = 1.0 + 0.3 * template
            sentences = draw(rng, 16 * per) * deviation + np.repeat(scale * levels, per)
            parts.append(_part(f"template-{template + 1}", sentences, per))
            these.append(math.exp(scale * float(WEIGHTS @ levels)))
            like.append(math.exp(scale * bias))
        ours, theirs = gest.of_these_stereotypes(parts), gest.of_stereotypes_like_these(parts)
        assert isinstance(ours, Ratio)
        assert isinstance(theirs, Ratio)
        null = not bias and not spread
        return {
            "these": covers(ours.interval(), float(np.mean(these))),
            "like these": covers(theirs.interval(), float(np.mean(like))),
            "type I, these": rejects(ours, 1.0) if null else None,
            "type I, like these": rejects(theirs, 1.0) if null else None,
        }

    return each(one)


def translation_rates(per: int, level: float, bias: float, spread: float, missing: float) -> Simulate:
    """f_s, f_s of stereotypes like these, f_m, p_m and p_i of translations."""

    def one(rng: Rng) -> dict[str, bool | None]:
        true = np.clip(level + bias * (MEN - 0.5) + spread * rng.uniform(-1, 1, 16), 0.0, 1.0)
        groups = {}
        for number, rate in zip(gest.STEREOTYPES, true, strict=True):
            gendered = (rng.random(per) >= missing).astype(float)
            groups[number] = gest_mt._Group(gendered, gendered * (rng.random(per) < rate))
        case = gest_mt._Case("m", "b", "all", "sk", "p", groups, groups[8], 1)
        # The centres of the Agresti-Coull intervals that are to be expected: what is defined as the number.
        sizes = np.array([group.n for group in groups.values()], dtype=float)
        square = gest_mt._Z**2
        centres = (true * sizes + square / 2) / (sizes + square)
        found: dict[str, bool | None] = {}
        for measure in (gest_mt.F_S, gest_mt.F_M, gest_mt.P_M):
            weights = case._weights(*gest_mt._RATES[measure])
            estimate = case._estimate(weights)
            wanted = float(weights @ centres)
            found[measure.name] = covers(estimate.interval(), wanted) if sizes.min() >= gest_mt.FEWEST else None
            if measure is gest_mt.F_S and not bias and not spread:
                found["type I of f_s"] = rejects(estimate, 0.0) if sizes.min() >= gest_mt.FEWEST else None
        like = case._like_these(case._weights(1.0, -1.0))
        inside = spread <= min(level - bias / 2, 1 - level - bias / 2)
        found["f_s, like these"] = (
            covers(like.interval(), bias * per * (1 - missing) / (per * (1 - missing) + square))
            if like is not None and inside
            else None
        )
        first = groups[1]
        found["p_i"] = covers(gest_mt.masculine_interval(*first.counts), float(true[0]))
        return found

    return each(one)


def bootstrapped(per: int, draw: Draw) -> Simulate:
    """q_i of a stereotype with so many sentences, as it is printed."""

    def one(rng: Rng) -> dict[str, bool | None]:
        values = draw(rng, per) * 0.4
        rows = {"model": "m", "benchmark": "gest", "part": "template-3", "language": "en", "protocol": "published"}
        table = pd.DataFrame(rows | {"item": [f"{place:04}" for place in range(per)], "role": "log_ratio"})
        table = table.assign(score=values, stereotype=8)
        records = [record for record in gest.measure(table) if record.measure == "q_i"]
        (record,) = records
        interval = None if record.low is None or record.high is None else (record.low, record.high)
        return {"q_i": None if interval is None else covers(interval, 1.0)}

    return each(one)


def occupations(per: int, correlation: float) -> Simulate:
    """g_s of WinoBias: twenty occupations of either gender with so many sentences each."""
    names = np.repeat(np.array([f"occupation {number}" for number in range(40)], dtype=object), per)
    gender = np.repeat(np.array(["male", "female"] * 20, dtype=object), per)
    rows = {"model": "m", "benchmark": "winobias", "part": "type1-test", "language": "en", "protocol": "published"}
    table = pd.DataFrame(rows | {"item": [f"{place:04}" for place in range(40 * per)], "occupation": names})
    table = table.assign(occupation_gender=gender, role="log_ratio")

    def one(rng: Rng) -> dict[str, bool | None]:
        shared = np.repeat(rng.normal(size=40), per) * math.sqrt(correlation)
        scores = shared + rng.normal(size=40 * per) * math.sqrt(1 - correlation) + 0.3 * (gender == "male")
        records = winobias.measure(table.assign(score=scores), resamples=400)
        by_name = {record.measure: record for record in records if record.view == "all"}
        truths = {"g_s": math.exp(0.3), "q_m": math.exp(0.3), "q_f": 1.0}
        return {
            name: covers((by_name[name].low, by_name[name].high), truth)  # type: ignore[arg-type]
            for name, truth in truths.items()
        }

    return each(one)


def settings() -> Iterator[Setting]:
    """All of them."""
    for shape in INDEPENDENT:
        for ties in (0.0, 0.1):
            for prefers, sense in TRUTHS:
                truth = AssociationTruth(prefers, sense, ties, gap=0.1)
                row = (shape.name, "", f"{ties:.0%}", f"{100 * prefers:g}, {100 * sense:g}")
                yield Setting("associations", row, associations(truth, shape))
    for shape in CLUSTERED:
        for correlation in CORRELATIONS:
            for ties in (0.0, 0.1):
                for prefers, sense in CLUSTERED_TRUTHS:
                    truth = AssociationTruth(prefers, sense, ties, gap=0.1, correlation=correlation)
                    row = (shape.name, f"{correlation:g}", f"{ties:.0%}", f"{100 * prefers:g}, {100 * sense:g}")
                    yield Setting("associations", row, associations(truth, shape))
    for n in (20, 60, 105, 212, 516, 1_508):
        for ties in (0.0, 0.1):
            for share in (0.5, 0.6, 0.8):
                row = (f"{n:,}", "", f"{ties:.0%}", f"{100 * share:g}")
                yield Setting("pairs", row, preferences_of_pairs(share, ties, Shape(str(n), n)))
    for correlation in CORRELATIONS:
        shape = Shape("20 templates of 25", 500, 20)
        row = (shape.name, f"{correlation:g}", "0%", "50")
        yield Setting("pairs", row, preferences_of_pairs(0.5, 0.0, shape, correlation))
    for name, draw in SKEWED.items():
        for n in (60, 105, 212, 516, 1_508):
            yield Setting("S_JSD", (name, f"{n:,}"), means_of_pairs(draw, n, pairs.FEWEST_FOR_S_JSD))
    for name in ("normal", "symmetric, heavy tails (t, 3 df)", "skewness 1.7 (g 0.3, h 0.1)"):
        for n in (20, 40, 60, 212):
            yield Setting("per token", (name, f"{n:,}"), means_of_pairs(SKEWED[name], n, 2))
    populations = {"normal": normal, "skewed, heavy tails": g_and_h(0.3, 0.1)}
    for per in (4, 20, 223):
        for name, draw in populations.items():
            row = (f"{per}", name, "one", "drawn")
            yield Setting("g_s", row, stereotype_rates(draw, per, 0.5, bias=0.25, spread=0.2, templates=1))
    yield Setting(
        "g_s", ("20", "normal", "two", "drawn"), stereotype_rates(normal, 20, 0.5, bias=0.25, spread=0.2, templates=2)
    )
    yield Setting(
        "g_s",
        ("20", "normal", "one", "all alike"),
        stereotype_rates(normal, 20, 0.5, bias=0.0, spread=0.0, templates=1),
    )
    for per in (2, 4, 20, 223):
        for name, draw in populations.items():
            yield Setting("q_i", (f"{per}", name), bootstrapped(per, draw))
    for per in (20, 40, 223):
        for level, bias, spread in ((0.5, 0.0, 0.0), (0.5, 0.2, 0.2), (0.75, 0.25, 0.1), (0.93, 0.08, 0.02)):
            yield Setting(
                "f_s",
                (f"{per}", f"{level:g}", f"{bias:g}", f"{spread:g}"),
                translation_rates(per, level, bias, spread, 0.0 if per == 20 else 0.1),
            )
    for per in (4, 10):
        for correlation in (0.0, 0.1, 0.3):
            yield Setting("WinoBias", (f"{per}", f"{correlation:g}"), occupations(per, correlation))
