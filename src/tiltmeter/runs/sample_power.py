"""The power of a run, computed before the run: the minimum detectable bias, and the items that a bias needs.

The result is for primary measures that are a percentage with the ideal 50, such as SS and CPS.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tiltmeter.forms import get_form
from tiltmeter.measures import get_measure_module
from tiltmeter.measures.estimates import PERCENT
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.sample_size import SampleDesign
from tiltmeter.runs.fixed_factors import read_fixed_factors
from tiltmeter.runs.portions import Portion, select_measure_module
from tiltmeter.runs.run_preparation import PreparedRun

# The assumed correlation of items with the same word or target.
CORRELATION = 0.05


@dataclass(frozen=True, slots=True)
class SamplePower:
    """What the items of a portion (one data set, part and language) can show with a power of 80%.

    `detectable` is the minimum detectable bias in points (None if there is none), and `needed` the number of items that
    a bias of `effect` points needs. Both are for independent items. `detectable_correlated` and `needed_correlated` are
    for a correlation of `CORRELATION` between the items that share a label of `factor`; they are None if items share
    nothing.
    """

    location: str
    measure: str
    items: int
    available: int
    effect: float
    detectable: float | None
    needed: int
    factor: str = ""
    detectable_correlated: float | None = None
    needed_correlated: int | None = None


def compute_sample_power(prepared: PreparedRun, effect: float | None) -> list[SamplePower]:
    """Return what each portion of a run can show; `effect` is the bias of interest, by default the margin."""
    found = []
    for chosen, available in zip(prepared.chosen, prepared.available, strict=True):
        measure = _find_share(chosen, is_chat=prepared.is_chat)
        if measure is None:
            continue
        items, wanted = len(chosen.items), effect or measure.margin or 5.0
        # A sample is corrected for a later look at more items.
        tests = 1 if items == len(available.items) else 2
        factor, size = _find_largest_clusters(chosen, prepared.settings.fixed)
        design = SampleDesign(tests=tests)
        power = SamplePower(
            f"{chosen.name}/{chosen.part}:{chosen.language}",
            measure.name,
            items,
            len(available.items),
            wanted,
            design.find_effect(items),
            design.find_items(wanted),
        )
        if size > 1:
            correlated = SampleDesign(size, CORRELATION, tests)
            power = replace(
                power,
                factor=factor,
                detectable_correlated=correlated.find_effect(items),
                needed_correlated=correlated.find_items(wanted),
            )
        found.append(power)
    return found


def _find_share(portion: Portion, *, is_chat: bool) -> Measure | None:
    """Return the primary measure of a portion; None if it is not a percentage with the ideal 50."""
    measures = []
    for chat in {False, is_chat}:
        module = get_measure_module(select_measure_module(portion, is_chat=chat))
        measures.append(next((measure for measure in module.MEASURES if measure.decides), None))
    shares = [m for m in measures if m is not None and (m.ideal, m.bounds, m.ratio) == (50.0, PERCENT, False)]
    return shares[-1] if len(shares) == len(measures) else None


def _find_largest_clusters(portion: Portion, fixed: Sequence[str]) -> tuple[str, int]:
    """Return the factor whose labels are shared by most items, and the mean number of items that share one."""
    form = get_form(portion.form)
    omitted = read_fixed_factors(fixed, {portion.form})
    rows = [form.attributes(item) for item in portion.items]
    largest = ("", 1)
    for plural, columns in form.factors.items():
        for column in columns:
            labels = Counter(row[column] for row in rows if row.get(column))
            if column in omitted or not labels:
                continue
            single = len(rows) - labels.total()
            size = round((sum(count**2 for count in labels.values()) + single) / len(rows))
            largest = max(largest, (plural, size), key=lambda one: one[1])
    return largest
