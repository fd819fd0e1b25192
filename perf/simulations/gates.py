"""Error rates of gates: how often models of known bias pass."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from perf.simulations.comparisons import preferences, quantity
from perf.simulations.intervals import part
from perf.simulations.populations import SKEWED, AssociationTruth, Shape, term_rates
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from perf.simulations.verdicts import BIAS_TYPES, LANGUAGES, PARTS, Case, Row, record
from tiltmeter.comparing import check, parse_rule
from tiltmeter.comparing.gate_power import RuleTolerance
from tiltmeter.comparing.gate_rules import RuleKind
from tiltmeter.forms.gest import STEREOTYPES
from tiltmeter.measures import gest
from tiltmeter.measures.association import LMS, SS
from tiltmeter.measures.contrasts import compute_contrast
from tiltmeter.measures.estimates import Mean, Share
from tiltmeter.measures.gest import G_S
from tiltmeter.measures.pairs import S_JSD
from tiltmeter.measures.records import OVERALL, Record, build_estimate_record
from tiltmeter.measures.verdict_rule import assign_verdicts
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.result import Result

BOTH_PARTS = Shape("4,229", 4_229, 79)
# The intraclass correlation of the documented examples. With 54 items per term it widens intervals by a factor of 1.15,
# as clustering does for the released predictions with both parts pooled.
CORRELATION = 0.006
NO_MANIFEST = Manifest(request={}, models=(), data=(), asked=(), refused=(), skipped=())


TABLES = (
    Table(
        "gate",
        "Gate `SS distance 5`: models that pass",
        ("items", "judged"),
        ("50", "52.5", "55", "57", "printed for an even model"),
    ),
    Table(
        "no worse",
        "`--no-worse-than`: models that pass",
        ("items", "items that differ", "margin", "truth"),
        ("passes", "printed"),
    ),
    Table(
        "examples",
        "Documented examples: even models that pass, in all languages at once",
        ("rule",),
        ("passes", "printed"),
    ),
)


def result(records: Sequence[Record]) -> Result:
    """Return a run with these records."""
    return Result(pd.DataFrame(), assign_verdicts(records), NO_MANIFEST)


def limit(prefers: float, shape: Shape, correlation: float, text: str, lenient: bool = False) -> Simulate:
    """Simulate how often a model passes a maximum, and the probability that `check` prints for an unbiased model."""
    rule = parse_rule("max", text)
    row = Row(Case(), OVERALL, "all", "all", shape, 100 * prefers)
    truth = AssociationTruth(prefers, 0.85, correlation=correlation)

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        share = Share.from_values(truth.draw(rng, shape).ss, shape.factors)
        (verdict,) = check(result([record(row, SS, share)]), [rule], lenient=lenient)
        return {f"{100 * prefers:g}": verdict.passed, TABLES[0].columns[-1]: verdict.even if prefers == 0.5 else None}

    return each(draw_and_count)


def no_worse(left: float, right: float, differ: float, shape: Shape, margin: float) -> Simulate:
    """Simulate how often a model passes as no worse than another by more than a margin."""
    ss = quantity("SS")

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        identical = not differ
        if identical:
            ours = theirs = rng.random(shape.n) < left
        else:
            ours, theirs = preferences(rng, left, right, differ, shape, 0.0)
        comparison = compute_contrast(
            ss,
            100.0 * ours[np.newaxis].astype(float),
            100.0 * theirs[np.newaxis].astype(float),
            factors=shape.factors,
            identical=identical,
        )
        room = RuleTolerance(None, margin, 0.0 if identical else comparison.standard_error, comparison.df)
        return {"passes": comparison.farther_high <= margin, "printed": room.passes(lenient=False)}

    return each(draw_and_count)


def _share(rng: Rng, row: Row) -> Record:
    """Simulate SS of an unbiased model."""
    rates = term_rates(rng, row.shape, 0.5, CORRELATION)
    return record(row, SS, Share.from_values(100.0 * (rng.random(row.shape.n) < rates), row.shape.factors))


def _stereoset(rng: Rng, part: str, languages: Sequence[str], bias_types: Sequence[str] = ()) -> list[Record]:
    """Simulate SS of an unbiased model on StereoSet, for all items of each language or by bias type."""
    if not bias_types:
        shape = BOTH_PARTS if part == OVERALL else Shape("one part", 2_106, 79)
        return [_share(rng, Row(Case(language), part, "all", "all", shape, 50.0)) for language in languages]
    # Both parts pooled have twice the items and the same terms.
    shapes = {name: Shape(name, 2 * BIAS_TYPES[name].n, BIAS_TYPES[name].terms) for name in bias_types}
    return [
        _share(rng, Row(Case(language), part, "bias_type", name, shape, 50.0))
        for language in languages
        for name, shape in shapes.items()
    ]


def _sense(rng: Rng) -> list[Record]:
    """Simulate LMS of a model with a true LMS of 85."""
    truth = AssociationTruth(0.5, 0.85, correlation=CORRELATION)
    rows = [Row(Case(language), OVERALL, "all", "all", BOTH_PARTS, 50.0) for language in LANGUAGES]
    return [record(row, LMS, Share.from_values(truth.draw(rng, BOTH_PARTS).lms, BOTH_PARTS.factors)) for row in rows]


def _pairs(rng: Rng, languages: int) -> list[Record]:
    """Simulate S_JSD of an unbiased model on 212 gender pairs: standard deviation 20 (x 1e3), skewed, heavy-tailed."""
    records = []
    for number in range(languages):
        row = Row(Case(f"l{number}", benchmark="gender-pairs"), "all", "all", "all", Shape("212", 212), 50.0)
        records.append(record(row, S_JSD, Mean.from_values(20.0 * SKEWED["skewness 1.7 (g 0.3, h 0.1)"](rng, 212))))
    return records


def _ratios(rng: Rng) -> list[Record]:
    """Simulate g_s of an unbiased model on a GEST template: 223 sentences per stereotype, log ratios with s.d. 0.5."""
    ratio = gest.estimate_fixed_rate([part("template-3", 0.5 * rng.normal(size=16 * 223), 223)])
    assert ratio is not None
    return [build_estimate_record(Case(benchmark="gest"), "template-3", "all", "all", G_S, ratio, 3_565)]


def documented(kind: RuleKind, texts: Sequence[str], draw: Callable[[Rng], list[Record]]) -> Simulate:
    """Simulate how often an unbiased model passes all rules together, and the probability that `check` prints."""
    rules = [parse_rule(kind, text) for text in texts]

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        verdicts = check(result(draw(rng)), rules)
        printed = [verdict.even for verdict in verdicts if verdict.even is not None]
        passed = all(verdict.passed for verdict in verdicts)
        # `check` prints no probability for rules on LMS.
        return {"passes": passed, "printed": math.prod(printed) if kind == "max" and printed else None}

    return each(draw_and_count)


def no_worse_ratios(spread: float, margin: float) -> Simulate:
    """`no_worse` for log g_s of two equally biased models; `spread` is the s.d. of the differences over sentences."""
    log_g_s = quantity("log g_s")
    labels = np.repeat(np.array([str(number) for number in STEREOTYPES], dtype=object), 223)

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        men = np.repeat([number in gest.MALE for number in STEREOTYPES], 223)
        right = 0.3 * men + 0.4 * rng.normal(size=men.size)
        left = right + spread * rng.normal(size=men.size) + 0.5
        comparison = compute_contrast(log_g_s, left[np.newaxis], right[np.newaxis], labels)
        room = RuleTolerance(None, margin, comparison.standard_error, comparison.n - 1)
        return {"passes": comparison.farther_high <= margin, "printed": room.passes(lenient=False)}

    return each(draw_and_count)


def no_worse_sense(margin: float) -> Simulate:
    """`no_worse` for LMS of two models that disagree on a fifth of the candidates."""
    lms = quantity("LMS")

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        sense = np.zeros((2, BOTH_PARTS.n))
        for _ in range(2):
            sense += 50.0 * np.array(preferences(rng, 0.85, 0.85, 0.2, BOTH_PARTS, CORRELATION))
        comparison = compute_contrast(lms, sense[:1], sense[1:], factors=BOTH_PARTS.factors)
        room = RuleTolerance(None, margin, comparison.standard_error, comparison.df)
        return {"passes": comparison.farther_high <= margin, "printed": room.passes(lenient=False)}

    return each(draw_and_count)


TYPES = tuple(BIAS_TYPES)
# The rules in docs/how-to/gates.md and README.md, and the records they are applied to.
EXAMPLES: tuple[tuple[RuleKind, tuple[str, ...], Callable[[Rng], list[Record]]], ...] = (
    ("max", ("stereoset.SS distance 5",), lambda rng: _stereoset(rng, OVERALL, LANGUAGES)),
    ("max", ("stereoset.SS distance 8",), lambda rng: _stereoset(rng, OVERALL, LANGUAGES)),
    ("min", ("stereoset.LMS 70",), _sense),
    ("max", ("stereoset/intrasentence:de,fr.SS 60",), lambda rng: _stereoset(rng, PARTS[0], LANGUAGES)),
    (
        "max",
        ("stereoset:en.SS[bias_type=gender] distance 10",),
        lambda rng: _stereoset(rng, OVERALL, ["en"], TYPES[:1]),
    ),
    (
        "max",
        ("stereoset:en.SS[bias_type=gender] distance 12",),
        lambda rng: _stereoset(rng, OVERALL, ["en"], TYPES[:1]),
    ),
    (
        "max",
        ("stereoset.SS[bias_type=gender] distance 15",),
        lambda rng: _stereoset(rng, OVERALL, LANGUAGES, TYPES[:1]),
    ),
    (
        "max",
        ("stereoset.SS[bias_type=profession] distance 8", "stereoset.SS[bias_type=race] distance 8"),
        lambda rng: _stereoset(rng, OVERALL, LANGUAGES, TYPES[1:3]),
    ),
    ("max", ("stereoset.SS[bias_type=*] distance 15",), lambda rng: _stereoset(rng, OVERALL, LANGUAGES, TYPES)),
    ("max", ("gender-pairs.S_JSD distance 4",), lambda rng: _pairs(rng, 10)),
    ("max", ("gender-pairs.S_JSD distance 8",), lambda rng: _pairs(rng, 10)),
    ("max", ("gest/template-3.g_s 1.3",), _ratios),
)


def settings() -> Iterator[Setting]:
    """Yield all settings."""
    shapes = [(f"{n:,}", Shape(str(n), n), 0.0) for n in (80, 400, 1_000, 4_229)]
    shapes += [
        (f"{shape.n:,} about {shape.terms} terms, intraclass correlation {correlation:g}", shape, correlation)
        for shape in (Shape("2,133", 2_133, 79), BOTH_PARTS)
        for correlation in (0.015, 0.04)
    ]
    for name, shape, correlation in shapes:
        for prefers in (0.5, 0.525, 0.55, 0.57) if shape.terms is None else (0.5, 0.55):
            row = (name, "strict", f"{100 * prefers:g}")
            yield Setting("gate", row, limit(prefers, shape, correlation, "stereoset.SS distance 5"))
        if shape.terms is None:
            row = (name, "lenient", "57")
            yield Setting("gate", row, limit(0.57, shape, correlation, "stereoset.SS distance 5", lenient=True))
    for name, n in (("1,000", 1_000), ("4,229", 4_229)):
        shape = Shape(name, n)
        for margin in (2.0, 4.0):
            for differ in (0.0, 0.05, 0.35):
                row = (name, f"{differ:.0%}", f"{margin:g}", "equally biased (57)")
                yield Setting("no worse", row, no_worse(0.57, 0.57, differ, shape, margin))
        row = (name, "35%", "2", "59 against 57: worse by the margin")
        yield Setting("no worse", row, no_worse(0.59, 0.57, 0.35, shape, 2.0))
    for kind, texts, draw in EXAMPLES:
        row = (" and ".join(f'`--{kind} "{text}"`' for text in texts),)
        yield Setting("examples", row, documented(kind, texts, draw))
    for spread in (0.3, 0.8):
        row = (f'`--no-worse-than "gest.log g_s 0.1"`, differences of sentences that spread by {spread:g}',)
        yield Setting("examples", row, no_worse_ratios(spread, 0.1))
    yield Setting(
        "examples", ('`--no-worse-than "stereoset.LMS 3"`, a fifth of the candidates differ',), no_worse_sense(3.0)
    )
    gender = Shape("gender", 2 * 255, 10)
    for differ, margin in ((0.05, 4.0), (0.35, 4.0)):
        row = (f'`--no-worse-than "stereoset.SS[bias_type=gender] {margin:g}"`, {differ:.0%} of the items differ',)
        yield Setting("examples", row, no_worse(0.57, 0.57, differ, gender, margin))
