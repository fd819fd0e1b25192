"""Error rates of a whole run: how rows are divided into runs, and looks at growing samples."""

from collections.abc import Iterator, Sequence

import numpy as np

from perf.simulations.populations import Shape, build_term_factor, term_rates
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from perf.simulations.verdicts import LANGUAGES, PARTS, Case, Row, record
from tiltmeter.measures.association import SS
from tiltmeter.measures.estimates import Share
from tiltmeter.measures.looks import Look, index_looks
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict_rule import PORTION, WHOLE_RUN, Families, assign_verdicts, count_test_families
from tiltmeter.runs.sequential_run import find_open_rows, list_look_sizes

TABLES = (
    Table(
        "looks",
        "Looks at a growing sample: data sets with a significant bias at any look, of an even model",
        ("numbers of items", "intraclass correlation"),
        ("corrected", "not corrected"),
    ),
    Table(
        "until-conclusive",
        "--until-conclusive on 2,133 items: verdicts at the end, and the items that were measured",
        ("SS", "intraclass correlation"),
        ("significant", "no bias", "open", "items"),
        plain=("items",),
    ),
    Table(
        "packaging",
        "Whole runs of an even model, in five languages and two parts: runs with a significant bias",
        ("test family", "intraclass correlation"),
        ("any", "families", "rows that differ in runs by language"),
        plain=("families",),
    ),
)

SIZES = (100, 200, 400, 800, 1_600, 2_133)
TERMS = 79


def looks(sizes: Sequence[int], correlation: float) -> Simulate:
    """Simulate tests of growing samples of one part, which contains each smaller sample."""
    full = Shape("all", SIZES[-1], TERMS)

    def draw_and_count(rng: Rng) -> dict[str, bool]:
        order = rng.permutation(full.n)
        values = 100.0 * (rng.random(full.n) < term_rates(rng, full, 0.5, correlation))
        outcome = {"corrected": False, "not corrected": False}
        for number, items in enumerate(sizes):
            chosen = order[:items]
            row = Row(Case(), PARTS[0], "all", "all", Shape(str(items), items), 50.0)
            tested = record(row, SS, Share.from_values(values[chosen], build_term_factor(full.codes[chosen])))
            look = Look("m", "stereoset", PARTS[0], "en", "published", items, tuple(sizes[:number]), items == full.n)
            outcome["corrected"] |= _is_significant(assign_verdicts([tested], looks=index_looks([look])))
            outcome["not corrected"] |= _is_significant(assign_verdicts([tested]))
        return outcome

    return each(draw_and_count)


def until_conclusive(truth: float, correlation: float) -> Simulate:
    """Simulate runs that measure growing samples until the verdict is settled."""
    full = Shape("all", SIZES[-1], TERMS)

    def draw_and_count(rng: Rng) -> dict[str, float]:
        order = rng.permutation(full.n)
        values = 100.0 * (rng.random(full.n) < term_rates(rng, full, truth / 100, correlation))
        sizes = list_look_sizes(full.n)
        for number, items in enumerate(sizes):
            chosen = order[:items]
            row = Row(Case(), PARTS[0], "all", "all", Shape(str(items), items), truth)
            tested = record(row, SS, Share.from_values(values[chosen], build_term_factor(full.codes[chosen])))
            look = Look("m", "stereoset", PARTS[0], "en", "published", items, tuple(sizes[:number]), items == full.n)
            (judged,) = assign_verdicts([tested], looks=index_looks([look]))
            if not find_open_rows([judged]):
                break
        kind = _get_kind(judged)
        return {
            "significant": kind == "significant",
            "no bias": kind == "no bias",
            "open": kind not in ("significant", "no bias"),
            "items": items,
        }

    return each(draw_and_count)


def packaging(families: Families, correlation: float) -> Simulate:
    """Simulate the verdicts of a run in five languages, and the same rows as five runs."""
    shape = Shape("400", 400, TERMS)

    def draw_and_count(rng: Rng) -> dict[str, float]:
        portions = [[_draw(rng, language, part, shape, correlation) for part in PARTS] for language in LANGUAGES]
        together = assign_verdicts([row for portion in portions for row in portion], families)
        apart = [row for portion in portions for row in assign_verdicts(portion, families)]
        return {
            "any": _is_significant(together),
            "families": count_test_families(together, families),
            "rows that differ in runs by language": float(
                np.mean([_get_kind(one) != _get_kind(other) for one, other in zip(together, apart, strict=True)])
            ),
        }

    return each(draw_and_count)


def _draw(rng: Rng, language: str, part: str, shape: Shape, correlation: float) -> Record:
    values = 100.0 * (rng.random(shape.n) < term_rates(rng, shape, 0.5, correlation))
    return record(Row(Case(language), part, "all", "all", shape, 50.0), SS, Share.from_values(values, shape.factors))


def _is_significant(records: Sequence[Record]) -> bool:
    return any(_get_kind(row) == "significant" for row in records)


def _get_kind(row: Record) -> str:
    return row.verdict.kind if row.verdict else ""


def settings() -> Iterator[Setting]:
    """Yield all settings."""
    for correlation in (0.0, 0.04):
        for sizes in (SIZES, SIZES[:-1], SIZES[::-1][:2][::-1], (100, SIZES[-1])):
            names = (", ".join(f"{items:,}" for items in sizes), f"{correlation:g}")
            yield Setting("looks", names, looks(sizes, correlation))
        for truth in (50.0, 52.5, 55.0, 57.5, 60.0, 65.0):
            names = (f"{truth:g}", f"{correlation:g}")
            yield Setting("until-conclusive", names, until_conclusive(truth, correlation), 2_000)
        for families in (PORTION, WHOLE_RUN):
            yield Setting("packaging", (families, f"{correlation:g}"), packaging(families, correlation))
