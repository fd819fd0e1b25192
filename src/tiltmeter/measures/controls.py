"""Comparisons of the value of a measure on a benchmark with its value on the control of the benchmark.

A control is a data set that is measured in the same way, but whose bias cannot be a bias towards the measured
stereotypes. Benchmark and control are compared as independent samples by Welch's t on the scale of the measure. If each
item of the control corresponds to an item of the benchmark, the interval is conservative.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scipy.special import stdtrit

from tiltmeter.measures.estimates import LEVEL, Interval
from tiltmeter.measures.measure import get_measure, select_deciding_record
from tiltmeter.measures.records import Record, get_row_key

ControlOutcome = Literal["more", "not more", "no bias to explain"]


@dataclass(frozen=True, slots=True)
class ControlContrast:
    """The comparison of a record with the record of its control.

    `excess` is the distance of the record from the ideal minus that of the control. Distances are measured in the
    direction of the record's bias, in units of the measure; for a ratio, `excess` is a factor. `interval` is the 95%
    interval of `excess`; it is None if one of the records has no standard error.
    """

    record: Record
    control: Record
    excess: float
    interval: Interval | None

    @property
    def outcome(self) -> ControlOutcome:
        """The result: the bias is "more" or "not more" than that of the control, or there is "no bias to explain"."""
        if self.record.verdict is None or self.record.verdict.kind != "significant":
            return "no bias to explain"
        none = 1.0 if get_measure(self.record.measure).ratio else 0.0
        return "more" if self.interval is not None and self.interval[0] > none else "not more"

    @property
    def has_biased_control(self) -> bool:
        """Whether the control has a significant bias on the same side of the ideal as the record."""
        verdicts = [r.verdict for r in (self.record, self.control) if r.verdict and r.verdict.kind == "significant"]
        return len(verdicts) == 2 and verdicts[0].side == verdicts[1].side


def list_control_contrasts(
    records: Sequence[Record], controls: Mapping[str, Iterable[str]]
) -> Iterator[ControlContrast]:
    """Yield the comparisons of benchmarks with their controls, for the records of primary measures.

    `controls` maps the name of a benchmark to the names of its controls. Two records are compared if model, part,
    language, protocol, group and measure are equal. If a control has only some of the bias types of the benchmark, only
    the records of these bias types are compared, not those over all items.
    """
    rows: dict[tuple[str, ...], dict[str, Record]] = {}
    bias_types: dict[tuple[str, ...], set[str]] = {}
    for record in records:
        key = get_row_key(record)
        rows.setdefault(key, {})[record.measure] = record
        if record.view == "bias_type":
            bias_types.setdefault(key[:-2], set()).add(record.group)
    for record in filter(None, map(select_deciding_record, rows.values())):
        for name in controls.get(record.benchmark, ()):
            model, _, *rest = key = get_row_key(record)
            other = (model, name, *rest)
            control = rows.get(other, {}).get(record.measure)
            comparable = record.view != "all" or bias_types.get(key[:-2]) == bias_types.get(other[:-2])
            if control is not None and comparable:
                yield build_control_contrast(record, control)


def build_control_contrast(record: Record, control: Record) -> ControlContrast:
    """Compare a record with the record of its control."""
    measure = get_measure(record.measure)
    side = 1.0 if measure.distance(record.value) >= 0 else -1.0
    excess = side * (measure.distance(record.value) - measure.distance(control.value))
    # The scale of ratios is log2, but the standard errors of ratios are for natural logarithms.
    scale = 1 / math.log(2) if measure.ratio else 1.0
    interval = None
    errors = [(r.standard_error, r.df or r.n - 1) for r in (record, control)]
    if all(error and df > 0 for error, df in errors) and record.low is not None and control.low is not None:
        variances = [((error or 0.0) * scale) ** 2 for error, _ in errors]
        df = sum(variances) ** 2 / sum(v**2 / df for v, (_, df) in zip(variances, errors, strict=True))
        reach = float(stdtrit(df, (1 + LEVEL) / 2)) * math.sqrt(sum(variances))
        interval = measure.clip_difference((excess - reach, excess + reach))
    if measure.ratio:
        return ControlContrast(record, control, 2**excess, (2 ** interval[0], 2 ** interval[1]) if interval else None)
    return ControlContrast(record, control, excess, interval)
