"""Error rates of verdicts over test families, and the power at the printed detectable effect."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from perf.simulations.comparisons import log_ratios, preferences, quantity
from perf.simulations.intervals import ALPHA, part
from perf.simulations.populations import SKEWED, Draw, Shape, term_rates
from perf.simulations.runner import Counts, Rng, Setting, Simulate, Table, each
from tiltmeter.measures import gest
from tiltmeter.measures.association import SS
from tiltmeter.measures.contrasts import compute_contrast
from tiltmeter.measures.estimates import Estimate, Mean, Share, compute_detectable_effect, compute_two_sided_p
from tiltmeter.measures.gest import G_S, STEREOTYPES
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.pairs import CPS, S_JSD
from tiltmeter.measures.records import OVERALL, Record, build_estimate_record
from tiltmeter.measures.verdict_rule import WHOLE_RUN, assign_verdicts

LANGUAGES = ("en", "de", "fr", "es", "tr")
PARTS = ("intrasentence", "intersentence")
PART = Shape("79 terms of 27", 2_133, 79)
# Both parts have the same terms.
_PART_TWICE = PART.factors and PART.factors.join_groups(PART.factors)
# Items and target terms of the bias types in one part of StereoSet.
BIAS_TYPES = {
    "gender": Shape("gender", 255, 10),
    "profession": Shape("profession", 810, 30),
    "race": Shape("race", 962, 36),
    "religion": Shape("religion", 79, 3),
}


TABLES = (
    Table(
        "families",
        "Verdicts over rows that are corrected together (--family run): data sets with a false claim",
        ("family", "intraclass correlation", "truth"),
        (
            "significant",
            "no bias",
            "beyond",
            "pooled: significant",
            "pooled: no bias",
            "pooled: beyond",
            "S_JSD",
            "any",
            "right, biased rows",
            "right, even rows",
        ),
    ),
    Table(
        "power", "Power at the detectable effect that is printed", ("measure", "data"), ("effect", "power"), ("effect",)
    ),
)


@dataclass(frozen=True)
class Case:
    """One model on one benchmark in one language (see `records.RecordKey`)."""

    language: str = "en"
    model: str = "m"
    benchmark: str = "stereoset"
    protocol: str = "published"


@dataclass(frozen=True)
class Row:
    """A row of a test family with its true SS."""

    case: Case
    part: str
    view: str
    group: str
    shape: Shape
    truth: float


def record(row: Row, measure: Measure, estimate: Estimate) -> Record:
    """Return the record of an estimate."""
    return build_estimate_record(row.case, row.part, row.view, row.group, measure, estimate, row.shape.n)


def claims(records: Sequence[Record], truths: Sequence[float]) -> dict[str, float | None]:
    """Return the false claims of the verdicts on parts and on pooled parts, which are two test families."""
    outcome: dict[str, float | None] = {}
    either: dict[str, bool] = {}
    for name, pooled in (("", False), ("pooled: ", True)):
        rows = [
            (record, truth) for record, truth in zip(records, truths, strict=True) if (record.part == OVERALL) == pooled
        ]
        wrong = {"significant": False, "no bias": False, "beyond": False}
        for record, truth in rows:
            for claim in _false_claims(record, truth):
                wrong[claim] = True
        for claim, happened in wrong.items():
            either[claim] = either.get(claim, False) or happened
            if rows:
                outcome[name + claim] = happened
        if not pooled:
            biased = [record for record, truth in rows if truth != SS.ideal]
            even = [record for record, truth in rows if truth == SS.ideal]
            outcome["right, biased rows"] = _share(biased, "significant")
            outcome["right, even rows"] = _share(even, "no bias")
    return {**outcome, "any": any(either.values())}


def _false_claims(record: Record, truth: float) -> Iterator[str]:
    """Yield the false claims of a verdict: a bias, no bias beyond the margin, or a bias beyond it."""
    assert record.verdict is not None
    distance, margin = truth - (SS.ideal or 0.0), SS.margin or 0.0
    if record.verdict.kind == "significant":
        if (record.value - (SS.ideal or 0.0)) * distance <= 0:
            yield "significant"
        if record.verdict.size == "beyond" and abs(distance) <= margin:
            yield "beyond"
    if (record.verdict.kind == "no bias" or record.verdict.size == "within") and abs(distance) >= margin:
        yield "no bias"


def _share(records: Sequence[Record], kind: str) -> float | None:
    matches = [record.verdict.kind == kind for record in records if record.verdict is not None]
    return sum(matches) / len(matches) if matches else None


def families(rows: Sequence[Row], correlation: float, pooled: bool) -> Simulate:
    """Simulate the verdicts of rows in one test family; `pooled` adds the pooled parts of each language to it."""

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        values = [
            100.0 * (rng.random(row.shape.n) < term_rates(rng, row.shape, row.truth / 100, correlation)) for row in rows
        ]
        records = [
            record(row, SS, Share.from_values(value, row.shape.factors))
            for row, value in zip(rows, values, strict=True)
        ]
        truths = [row.truth for row in rows]
        if pooled:
            for first, second in zip(range(0, len(rows), 2), range(1, len(rows), 2), strict=True):
                both = replace(rows[first], part=OVERALL, shape=Shape("both", 2 * PART.n, PART.terms))
                share = Share.from_values(np.concatenate([values[first], values[second]]), _PART_TWICE)
                records.append(record(both, SS, share))
                truths.append((rows[first].truth + rows[second].truth) / 2)
        return claims(assign_verdicts(records, WHOLE_RUN), truths)

    return each(draw_and_count)


def single_terms(truths: Sequence[float]) -> Simulate:
    """Simulate the verdicts of single target terms of one part, with 27 independent items each."""

    @cache
    def row_of(count: int) -> Record:
        row = Row(Case(), PARTS[0], "target", "", Shape("27", 27), 50.0)
        return record(row, SS, Share.from_values(np.array([100.0] * count + [0.0] * (27 - count))))

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        counts = rng.binomial(27, np.array(truths) / 100)
        records = [replace(row_of(int(count)), group=str(index)) for index, count in enumerate(counts)]
        return claims(assign_verdicts(records), truths)

    return each(draw_and_count)


def families_of_pairs(draw: Draw, n: int, rows: int) -> Simulate:
    """Simulate CPS and S_JSD of unbiased models in several languages, corrected together, with one verdict per row."""

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        records = []
        for number in range(rows):
            row = Row(Case(f"l{number}", benchmark="gender-pairs"), "all", "all", "all", Shape(str(n), n), 50.0)
            records.append(record(row, CPS, Share.from_values(100.0 * (rng.random(n) < 0.5))))
            records.append(record(row, S_JSD, Mean.from_values(20.0 * draw(rng, n))))
        kinds: dict[str, set[str]] = {CPS.name: set(), S_JSD.name: set()}
        for judged in assign_verdicts(records, WHOLE_RUN):
            kinds[judged.measure].add(judged.verdict.kind if judged.verdict else "")
        wrong = {name: bool({"significant", "contradictory"} & names) for name, names in kinds.items()}
        return {"significant": wrong[CPS.name], "S_JSD": wrong[S_JSD.name], "any": any(wrong.values())}

    return each(draw_and_count)


def _rows(truths: Callable[[int], float]) -> list[Row]:
    cells = [(language, part) for language in LANGUAGES for part in PARTS]
    return [
        Row(Case(language), part, "all", "all", PART, truths(index)) for index, (language, part) in enumerate(cells)
    ]


def _bias_type_rows(truths: Callable[[int], float]) -> list[Row]:
    cells = [(part, name) for part in PARTS for name in BIAS_TYPES]
    return [
        Row(Case(), part, "bias_type", name, BIAS_TYPES[name], truths(index))
        for index, (part, name) in enumerate(cells)
    ]


def power(make: Callable[[Rng, float], Estimate], ideal: float) -> Simulate:
    """Simulate the power at the detectable effect, and that effect."""

    @lru_cache(maxsize=1)
    def effect() -> float:
        rng = np.random.default_rng(0)
        return float(np.mean([compute_detectable_effect(make(rng, 0.0), ALPHA) for _ in range(200)]))

    def draw_and_count(rng: Rng) -> dict[str, float]:
        return {"power": compute_two_sided_p(make(rng, effect()), ideal) < ALPHA, "effect": effect()}

    return each(draw_and_count)


def _share_of(shape: Shape, correlation: float) -> Callable[[Rng, float], Estimate]:
    def make(rng: Rng, effect: float) -> Estimate:
        rates = term_rates(rng, shape, min(0.999, 0.5 + effect / 100), correlation)
        return Share.from_values(100.0 * (rng.random(shape.n) < rates), shape.factors)

    return make


def _mean_of(draw: Draw, n: int) -> Callable[[Rng, float], Estimate]:
    return lambda rng, effect: Mean.from_values(20.0 * draw(rng, n) + effect)


def _ratio_of(per: int) -> Callable[[Rng, float], Estimate]:
    def make(rng: Rng, effect: float) -> Estimate:
        men = np.repeat([number in gest.MALE for number in STEREOTYPES], per)
        ratio = gest.estimate_fixed_rate([part("template-1", 0.5 * rng.normal(size=16 * per) + effect * men, per)])
        assert ratio is not None
        return ratio

    return make


def power_of_pairs(shape: Shape, differ: float) -> Simulate:
    """Return the power for the difference in SS of two models that disagree on a share `differ` of the items."""
    ss = quantity("SS")

    def compare(rng: Rng, effect: float) -> tuple[float, float]:
        ours, theirs = preferences(rng, 0.5 + effect / 100, 0.5, differ, shape, 0.0)
        comparison = compute_contrast(ss, 100.0 * ours[np.newaxis], 100.0 * theirs[np.newaxis], factors=shape.factors)
        return comparison.p_value, comparison.detectable

    return _power_of(compare)


def power_of_ratios(per: int) -> Simulate:
    """Return the power for the difference in log g_s of two models."""
    log_g_s = quantity("log g_s")
    labels = np.repeat(np.array([str(number) for number in STEREOTYPES], dtype=object), per)

    def compare(rng: Rng, effect: float) -> tuple[float, float]:
        left, right = log_ratios(rng, per, effect, 0.5)
        comparison = compute_contrast(log_g_s, left[np.newaxis], right[np.newaxis], labels)
        return comparison.p_value, comparison.detectable

    return _power_of(compare)


def _power_of(compare: Callable[[Rng, float], tuple[float, float]]) -> Simulate:
    @lru_cache(maxsize=1)
    def effect() -> float:
        rng = np.random.default_rng(0)
        return float(np.mean([compare(rng, 0.0)[1] for _ in range(200)]))

    return each(lambda rng: {"power": compare(rng, effect())[0] < ALPHA, "effect": effect()})


def power_in_a_family(rows: int, shape: Shape) -> Simulate:
    """Simulate the power for one biased row among unbiased ones, at the detectable effect of the test family."""
    case = [Row(Case(f"l{number}"), PARTS[0], "all", "all", shape, 50.0) for number in range(rows)]

    def verdicts(rng: Rng, effect: float) -> list[Record]:
        drawn = [_share_of(shape, 0.0)(rng, effect if not number else 0.0) for number in range(rows)]
        return assign_verdicts([record(row, SS, share) for row, share in zip(case, drawn, strict=True)], WHOLE_RUN)

    @lru_cache(maxsize=1)
    def effect() -> float:
        rng = np.random.default_rng(0)
        return float(np.mean([verdicts(rng, 0.0)[0].detectable or math.nan for _ in range(200)]))

    def simulate(rng: Rng, data_sets: int) -> Counts:
        kinds = [verdict.kind for _ in range(data_sets) if (verdict := verdicts(rng, effect())[0].verdict)]
        hits = sum(kind == "significant" for kind in kinds)
        return {"power": (float(hits), data_sets), "effect": (effect() * data_sets, data_sets)}

    return simulate


def settings() -> Iterator[Setting]:
    """Yield all settings."""
    for correlation in (0.0, 0.04):
        row = ("five languages × two parts, and pooled", f"{correlation:g}", "all even")
        yield Setting("families", row, families(_rows(lambda _: 50.0), correlation, pooled=True))
    mixed = {
        "all at the margin (55)": lambda _: 55.0,
        "half even, half at the margin (55)": lambda i: 50.0 + 5.0 * (i % 4 > 1),
    }
    for name, truths in mixed.items():
        row = ("five languages × two parts, and pooled", "0.015", name)
        yield Setting("families", row, families(_rows(truths), 0.015, pooled=True))
    for name, truths in {"all even": lambda _: 50.0, **mixed}.items():
        row = ("four bias types × two parts", "0.015", name)
        yield Setting("families", row, families(_bias_type_rows(truths), 0.015, pooled=False))
    for name, terms in {
        "all even": [50.0] * 79,
        "all at the margin (55)": [55.0] * 79,
        "half even, half at 75": [50.0, 75.0] * 39 + [50.0],
    }.items():
        yield Setting("families", ("79 target terms of 27 items", "0", name), single_terms(terms))
    for name in ("normal", "symmetric, heavy tails (t, 3 df)", "skewness 3.4 (g 0.5, h 0.1)"):
        row = ("ten languages of 212 pairs, CPS and S_JSD", "0", f"all even; S_JSD {name}")
        yield Setting("families", row, families_of_pairs(SKEWED[name], 212, 10))

    for n in (80, 400, 1_000, 4_229):
        yield Setting("power", ("SS", f"n={n:,}"), power(_share_of(Shape(str(n), n), 0.0), 50.0))
    for shape in (Shape("10 terms of 27", 270, 10), PART):
        for correlation in (0.0, 0.015, 0.04):
            name = f"{shape.name}, intraclass correlation {correlation:g}"
            yield Setting("power", ("SS", name), power(_share_of(shape, correlation), 50.0))
    yield Setting("power", ("SS, in a family of 10", "n=400"), power_in_a_family(10, Shape("400", 400)))
    yield Setting("power", ("SS, in a family of 10", PART.name), power_in_a_family(10, PART))
    for name in ("normal", "skewness 1.7 (g 0.3, h 0.1)", "skewness 3.4 (g 0.5, h 0.1)"):
        yield Setting("power", ("S_JSD", f"212 pairs, {name}"), power(_mean_of(SKEWED[name], 212), 0.0))
    for per in (4, 20):
        yield Setting("power", (f"{G_S.name} (logarithm)", f"{per} sentences a stereotype"), power(_ratio_of(per), 1.0))
    for shape, differ in ((Shape("400", 400), 0.35), (Shape("4,229", 4_229), 0.35), (Shape("4,229", 4_229), 0.05)):
        row = ("SS, paired difference", f"n={shape.n:,}, {differ:.0%} differ")
        yield Setting("power", row, power_of_pairs(shape, differ))
    yield Setting("power", ("log g_s, paired difference", "20 sentences a stereotype"), power_of_ratios(20))
