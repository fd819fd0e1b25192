"""Error rates of gates: how often models of known bias pass."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from perf.simulations.comparisons import preferences, quantity
from perf.simulations.intervals import _part
from perf.simulations.populations import SKEWED, AssociationTruth, Shape
from perf.simulations.runner import Rng, Setting, Simulate, each
from perf.simulations.verdicts import BIAS_TYPES, LANGUAGES, PARTS, Case, Row, record
from tiltmeter.checks import check, parse_rule
from tiltmeter.checks.power import Room
from tiltmeter.measures import gest
from tiltmeter.measures.association import LMS, SS
from tiltmeter.measures.contrasts import contrast
from tiltmeter.measures.estimates import Mean, Share
from tiltmeter.measures.gest import G_S, STEREOTYPES
from tiltmeter.measures.pairs import S_JSD
from tiltmeter.measures.records import OVERALL, Record, estimated
from tiltmeter.measures.rule import settle
from tiltmeter.runs.result import Result

WHOLE = Shape("4,229", 4_229, 79)
# The intraclass correlation of the documented examples: that of the released predictions.
CORRELATION = 0.015
PAIR_LANGUAGES = 10


def result(records: Sequence[Record]) -> Result:
    """A run that holds these records."""
    return Result(pd.DataFrame(), settle(records), {})


def limit(prefers: float, shape: Shape, correlation: float, text: str, lenient: bool = False) -> Simulate:
    """How often a model passes a maximum, and how often `check` says that an even one would."""
    rule = parse_rule("max", text)
    row = Row(Case(), OVERALL, "all", "all", shape, 100 * prefers)
    truth = AssociationTruth(prefers, 0.85, correlation=correlation)

    def one(rng: Rng) -> dict[str, float | None]:
        share = Share.of(truth.draw(rng, shape).ss, shape.labels)
        (verdict,) = check(result([record(row, SS, share)]), [rule], lenient=lenient)
        return {"passes": verdict.passed, "printed": verdict.even}

    return each(one)


def no_worse(left: float, right: float, differ: float, shape: Shape, margin: float) -> Simulate:
    """How often one model is shown to be no worse than another, by a margin."""
    ss = quantity("SS")

    def one(rng: Rng) -> dict[str, float | None]:
        identical = not differ
        if identical:
            ours = theirs = rng.random(shape.n) < left
        else:
            ours, theirs = preferences(rng, left, right, differ, shape, 0.0)
        found = contrast(
            ss,
            100.0 * ours[np.newaxis].astype(float),
            100.0 * theirs[np.newaxis].astype(float),
            clusters=shape.labels,
            identical=identical,
        )
        room = Room(None, margin, 0.0 if identical else found.standard_error, (found.clusters or found.n) - 1)
        return {"passes": found.farther_high <= margin, "printed": room.passes(lenient=False)}

    return each(one)


def _even_stereoset(rng: Rng, languages: Sequence[str]) -> list[Record]:
    """An even model on all of StereoSet: SS and LMS of both parts pooled, of one part, and by bias type."""
    records = []
    truth = AssociationTruth(0.5, 0.85, correlation=CORRELATION)
    for language in languages:
        row = Row(Case(language), OVERALL, "all", "all", WHOLE, 50.0)
        drawn = truth.draw(rng, WHOLE)
        records += [
            record(row, LMS, Share.of(drawn.lms, WHOLE.labels)),
            record(row, SS, Share.of(drawn.ss, WHOLE.labels)),
        ]
        half = Shape("half", 2_106, 79)
        one = replace(row, part=PARTS[0], shape=half)
        records.append(record(one, SS, Share.of(truth.draw(rng, half).ss, half.labels)))
        for name, shape in BIAS_TYPES.items():
            both = Shape(name, 2 * shape.n, shape.terms)
            group = replace(row, view="bias_type", group=name, shape=both)
            records.append(record(group, SS, Share.of(truth.draw(rng, both).ss, both.labels)))
    return records


def _even_pairs(rng: Rng, population: str) -> list[Record]:
    """An even model on the 212 gender pairs of ten languages; S_JSD x 1e3 spreads by 20 between pairs."""
    records = []
    for place in range(PAIR_LANGUAGES):
        row = Row(Case(f"l{place}", benchmark="gender-pairs"), "all", "all", "all", Shape("212", 212), 50.0)
        values = SKEWED[population](rng, 212)
        records.append(record(row, S_JSD, Mean.of(20.0 * values)))
    return records


def _even_gest(rng: Rng) -> list[Record]:
    """An even model on GEST in one template: 223 sentences a stereotype, log-ratios that spread by 0.5."""
    case = Case(benchmark="gest")
    ratio = gest.of_these_stereotypes([_part("template-3", 0.5 * rng.normal(size=16 * 223), 223)])
    assert ratio is not None
    return [estimated(case, "template-3", "all", "all", G_S, ratio, 3_565)]


def documented(kind: str, texts: Sequence[str], benchmark: str, *, languages: int = 5) -> Simulate:
    """How often an even model passes all of these rules at once, and the least probability that `check` prints."""
    rules = [parse_rule(kind, text) for text in texts]  # type: ignore[arg-type]

    def one(rng: Rng) -> dict[str, float | None]:
        if benchmark == "stereoset":
            records = _even_stereoset(rng, LANGUAGES[:languages])
        elif benchmark == "gender-pairs":
            records = _even_pairs(rng, "skewness 1.7 (g 0.3, h 0.1)")
        else:
            records = _even_gest(rng)
        verdicts = check(result(records), rules)
        printed = [verdict.even for verdict in verdicts if verdict.even is not None]
        return {
            "passes": all(verdict.passed for verdict in verdicts),
            "printed": math.prod(printed) if printed else None,
        }

    return each(one)


def no_worse_ratios(spread: float, margin: float) -> Simulate:
    """The same for log g_s of two models that are equally biased; `spread` is that of the differences of sentences."""
    log_g_s = quantity("log g_s")
    labels = np.repeat(np.array([str(number) for number in STEREOTYPES], dtype=object), 223)

    def one(rng: Rng) -> dict[str, float | None]:
        men = np.repeat([number in gest.MALE for number in STEREOTYPES], 223)
        right = 0.3 * men + 0.4 * rng.normal(size=men.size)
        left = right + spread * rng.normal(size=men.size) + 0.5
        found = contrast(log_g_s, left[np.newaxis], right[np.newaxis], labels)
        room = Room(None, margin, found.standard_error, found.n - 1)
        return {"passes": found.farther_high <= margin, "printed": room.passes(lenient=False)}

    return each(one)


def no_worse_sense(margin: float) -> Simulate:
    """The same for LMS of two models that disagree on a fifth of the candidates."""
    lms = quantity("LMS")

    def one(rng: Rng) -> dict[str, float | None]:
        sense = np.zeros((2, WHOLE.n))
        for _ in range(2):
            sense += 50.0 * np.array(preferences(rng, 0.85, 0.85, 0.2, WHOLE, CORRELATION))
        found = contrast(lms, sense[:1], sense[1:], clusters=WHOLE.labels)
        room = Room(None, margin, found.standard_error, (found.clusters or found.n) - 1)
        return {"passes": found.farther_high <= margin, "printed": room.passes(lenient=False)}

    return each(one)


EXAMPLES: tuple[tuple[str, tuple[str, ...], str, int], ...] = (
    ("max", ("stereoset.SS distance 5",), "stereoset", 5),
    ("max", ("stereoset.SS distance 8",), "stereoset", 5),
    ("min", ("stereoset.LMS 70",), "stereoset", 5),
    ("max", ("stereoset/intrasentence:de,fr.SS 60",), "stereoset", 5),
    ("max", ("stereoset.SS[bias_type=gender] distance 10",), "stereoset", 5),
    ("max", ("stereoset.SS[bias_type=gender] distance 12",), "stereoset", 5),
    ("max", ("stereoset:en.SS[bias_type=gender] distance 10",), "stereoset", 5),
    ("max", ("stereoset:de.SS[bias_type=gender] distance 15",), "stereoset", 5),
    ("max", ("stereoset.SS[bias_type=*] distance 15",), "stereoset", 5),
    (
        "max",
        ("stereoset.SS[bias_type=profession] distance 8", "stereoset.SS[bias_type=race] distance 8"),
        "stereoset",
        5,
    ),
    ("max", ("gender-pairs.S_JSD distance 4",), "gender-pairs", 10),
    ("max", ("gender-pairs.S_JSD distance 8",), "gender-pairs", 10),
    ("max", ("gest/template-3.g_s 1.3",), "gest", 1),
)


def settings() -> Iterator[Setting]:
    """All of them."""
    for n in (80, 400, 1_000, 4_229):
        for prefers in (0.5, 0.525, 0.55, 0.57):
            row = (f"{n:,}", f"{100 * prefers:g}", "strict")
            yield Setting("gate", row, limit(prefers, Shape(str(n), n), 0.0, "stereoset.SS distance 5"))
        row = (f"{n:,}", "57", "lenient")
        yield Setting("gate", row, limit(0.57, Shape(str(n), n), 0.0, "stereoset.SS distance 5", lenient=True))
    for shape in (Shape("270", 270, 10), Shape("2,133", 2_133, 79), WHOLE):
        for correlation in (0.0, 0.015, 0.04):
            row = (f"{shape.name} in {shape.terms} terms, correlation {correlation:g}", "50", "strict")
            yield Setting("gate with terms", row, limit(0.5, shape, correlation, "stereoset.SS distance 5"))
            row = (f"{shape.name} in {shape.terms} terms, correlation {correlation:g}", "55", "strict")
            yield Setting("gate with terms", row, limit(0.55, shape, correlation, "stereoset.SS distance 5"))
    for name, n in (("1,000", 1_000), ("4,229", 4_229)):
        shape = Shape(name, n)
        for margin in (2.0, 4.0):
            for differ in (0.0, 0.05, 0.35):
                row = (name, f"{differ:.0%}", f"{margin:g}", "equally biased (57)")
                yield Setting("no worse", row, no_worse(0.57, 0.57, differ, shape, margin))
        row = (name, "35%", "2", "59 against 57: worse by the margin")
        yield Setting("no worse", row, no_worse(0.59, 0.57, 0.35, shape, 2.0))
    for kind, texts, benchmark, languages in EXAMPLES:
        row = (" and ".join(f'--{kind} "{text}"' for text in texts),)
        yield Setting("examples", row, documented(kind, texts, benchmark, languages=languages))
    for spread in (0.3, 0.8):
        row = (f'--no-worse-than "gest.log g_s 0.1", differences of sentences that spread by {spread:g}',)
        yield Setting("examples", row, no_worse_ratios(spread, 0.1))
    yield Setting(
        "examples", ('--no-worse-than "stereoset.LMS 3", a fifth of the candidates differ',), no_worse_sense(3.0)
    )
    gender = Shape("gender", 2 * 255, 10)
    for differ, margin in ((0.05, 4.0), (0.35, 4.0)):
        row = (f'--no-worse-than "stereoset.SS[bias_type=gender] {margin:g}", {differ:.0%} of the items differ',)
        yield Setting("examples", row, no_worse(0.57, 0.57, differ, gender, margin))
