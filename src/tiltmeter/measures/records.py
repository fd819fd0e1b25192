"""Records: the rows of measures.json. A record has one value with its interval, tests and verdict."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from tiltmeter.errors import DataError
from tiltmeter.measures.estimates import (
    Estimate,
    Interval,
    compute_detectable_effect,
    compute_equivalence_p,
    compute_two_sided_p,
)
from tiltmeter.measures.measure import Measure, get_measure
from tiltmeter.measures.missing_answers import PartialEstimate, get_given_estimate
from tiltmeter.measures.verdict import Verdict

# The value of `part` in records over several pooled parts.
OVERALL = "overall"
ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One value of a measure in a run.

    `view` tells how the items are grouped (all items, by bias type, by target term, …), and `group` is the name of the
    group. `n` is the number of items. `factor` is the factor (such as the target terms that items share) that dominates
    the standard error, `clusters` is the number of its clusters, `design_effect` is the variance divided by that of
    independent items, and `df` are the degrees of freedom of the standard error. `low` and `high` are the ends of the
    95% interval; if there is no interval, `why` is the reason. `p_value` is the p-value of the test against `ideal`.
    `p_adjusted` is this p-value corrected by Holm's method for a test family of `tests` tests, and for the number of
    `looks` (tests of growing samples; None if looks are not counted). `p_equivalence` tests that the true value is
    within `margin` of the ideal, `p_beyond` that it is beyond the margin; both are corrected too. `detectable` is the
    minimum detectable effect with a power of 80%; for ratios, it is the logarithm of the effect. `family` is the answer
    type (likelihood, next-sentence, …), `kind` the kind of model (masked, causal, …). `label` is the name of the group
    for display, if the data contain such a name. If answers are missing, `missing` is their share (0 to 1), and
    `lowest_possible` and `highest_possible` are the values of the measure if all missing answers were on one or the
    other side; the p-values are then the largest over these cases.
    """

    model: str
    benchmark: str
    part: str
    language: str
    view: str
    group: str
    measure: str
    value: float
    low: float | None
    high: float | None
    n: int
    ideal: float | None
    protocol: str
    p_value: float | None = None
    standard_error: float | None = None
    clusters: int | None = None
    factor: str | None = None
    df: float | None = None
    design_effect: float | None = None
    margin: float | None = None
    p_equivalence: float | None = None
    p_beyond: float | None = None
    p_adjusted: float | None = None
    tests: int | None = None
    looks: int | None = None
    detectable: float | None = None
    why: str | None = None
    family: str | None = None
    kind: str | None = None
    verdict: Verdict | None = None
    label: str | None = None
    missing: float | None = None
    lowest_possible: float | None = None
    highest_possible: float | None = None

    @property
    def interval(self) -> Interval | None:
        """The ends of the 95% interval; None if there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __post_init__(self) -> None:
        # JSON has no NaN and no infinity, so a missing number must be None.
        for name in _NUMBERS:
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise DataError(f"{self}: {name} is {number}, not a finite number.")
        if (self.low is None) != (self.high is None):
            raise DataError(f"{self}: the interval has only one end.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise DataError(f"{self}: the interval from {self.low} to {self.high} is reversed.")

    def __str__(self) -> str:
        data = f"{self.benchmark}/{self.part}:{self.language}"
        return f"{self.measure} of {self.model} on {data} ({self.view}: {self.group})"


COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(Record))
_NUMBERS = tuple(field.name for field in fields(Record) if field.type in (float, float | None))
_COUNTS = tuple(field.name for field in fields(Record) if field.type in (int, int | None))
# Columns that measures.json may lack if an older version of Tiltmeter wrote it.
_ADDED = ("missing", "lowest_possible", "highest_possible", "looks", "factor", "df", "design_effect")
_TEXTS = tuple(field.name for field in fields(Record) if field.type is str)
_TEXTS_OR_NONE = tuple(field.name for field in fields(Record) if field.type == str | None)

# The columns of a table of scores that identify the model, the part of the data and the protocol.
KEY_COLUMNS = ("model", "benchmark", "part", "language", "protocol")


@dataclass(frozen=True, slots=True)
class RecordKey:
    """One model on one part of a benchmark in one language, with one protocol. Measure modules define subclasses."""

    model: str
    benchmark: str
    part: str
    language: str
    protocol: str

    @property
    def names(self) -> tuple[str, str, str, str, str]:
        """The five names, in the order of `KEY_COLUMNS`."""
        return self.model, self.benchmark, self.part, self.language, self.protocol


def split_by_key(scores: pd.DataFrame) -> Iterator[tuple[RecordKey, pd.DataFrame]]:
    """Yield each key in a table of scores with its rows, in order of first appearance."""
    for names, rows in scores.groupby(list(KEY_COLUMNS), observed=True, sort=False):
        yield RecordKey(*map(str, names)), rows


def build_record(
    key: RecordKey,
    part: str,
    view: str,
    group: str,
    measure: Measure | str,
    value: float,
    n: int,
    *,
    ends: tuple[float, float] | None = None,
    p_value: float | None = None,
    why: str | None = None,
    **other_fields: Any,
) -> Record:
    """Build a record of one value; the interval `ends` is clipped to the bounds of the measure."""
    measure = measure if isinstance(measure, Measure) else get_measure(measure)
    low, high = measure.clip(ends) if ends else (None, None)
    return Record(
        model=key.model,
        benchmark=key.benchmark,
        part=part,
        language=key.language,
        view=view,
        group=group,
        measure=measure.name,
        value=value,
        low=low,
        high=high,
        n=n,
        ideal=measure.ideal,
        protocol=key.protocol,
        p_value=p_value,
        why=why,
        **other_fields,
    )


def build_estimate_record(
    key: RecordKey,
    part: str,
    view: str,
    group: str,
    measure: Measure,
    estimate: Estimate,
    n: int,
    margin: float | None = None,
    *,
    tested: bool = True,
) -> Record:
    """Build the record of an estimate, with its interval and, if the measure has an ideal, its tests.

    `margin` overrides the equivalence margin of the measure.
    """
    tests: dict[str, Any] = {}
    if tested and measure.ideal is not None and not measure.ideal_at_bound:
        tests["p_value"] = compute_two_sided_p(estimate, measure.ideal)
        if measure.margin is not None:
            margin = margin or measure.margin
            low, high = measure.limits(margin)
            tests |= {
                "margin": margin,
                "p_equivalence": compute_equivalence_p(estimate, low, high),
                "p_beyond": min(estimate.compute_p_above(high), estimate.compute_p_below(low)),
                "detectable": compute_detectable_effect(get_given_estimate(estimate), ALPHA),
            }
    if isinstance(estimate, PartialEstimate):
        lowest, highest = measure.clip(estimate.possible_range)
        tests |= {"missing": estimate.missing, "lowest_possible": lowest, "highest_possible": highest}
    return build_record(
        key,
        part,
        view,
        group,
        measure,
        estimate.value,
        n,
        ends=estimate.interval(),
        standard_error=estimate.standard_error.value,
        clusters=estimate.standard_error.clusters,
        factor=estimate.standard_error.factor or None,
        df=float(estimate.standard_error.df),
        design_effect=estimate.standard_error.design_effect,
        **tests,
    )


def get_row_key(record: Record) -> tuple[str, ...]:
    """Return the key that all records of one row share: the records for the same data and group of items."""
    return (record.model, record.benchmark, record.language, record.part, record.protocol, record.view, record.group)


def get_parts_key(record: Record) -> tuple[str, ...]:
    """Return the key that a record over pooled parts and the records of the single parts share."""
    protocol = get_base_protocol(record.protocol)
    return record.model, record.benchmark, record.language, protocol, record.view, record.group, record.measure


def get_base_protocol(protocol: str) -> str:
    """Return the protocol without the suffix of a scoring case, such as `/d`; for pooled parts, that of the first part.

    >>> get_base_protocol("published/d"), get_base_protocol("published + published/d")
    ('published', 'published')
    """
    return protocol.split(" + ")[0].partition("/")[0]


def to_dicts(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Convert records to the format of measures.json."""
    return [
        {name: getattr(record, name) for name in COLUMNS if name != "verdict"}
        | {"verdict": record.verdict.to_dict() if record.verdict else None}
        for record in records
    ]


def from_dicts(rows: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Read records from the rows of measures.json."""
    records = []
    for number, row in enumerate(rows, start=1):
        try:
            verdict = Verdict.from_dict(row["verdict"]) if row.get("verdict") else None
            _check_types(row)
            if missing := [name for name in COLUMNS if name not in row and name not in _ADDED]:
                raise TypeError(f"{missing[0]} is missing")
            records.append(Record(**{**row, "verdict": verdict}))
        except (TypeError, AttributeError) as error:
            raise DataError(f"Record {number} is not a row of measures.json: {error}.") from None
    return records


def _check_types(row: Mapping[str, Any]) -> None:
    """Raise a TypeError if a field in a row of measures.json has a wrong type."""
    for name in (*_TEXTS, *_TEXTS_OR_NONE):
        if name in row and not (isinstance(row[name], str) or (row[name] is None and name in _TEXTS_OR_NONE)):
            raise TypeError(f"{name} is not a text")
    for name in (*_NUMBERS, *_COUNTS):
        number = row.get(name)
        if number is None and name not in ("value", "n"):
            continue
        if isinstance(number, bool) or not isinstance(number, int if name in _COUNTS else int | float):
            raise TypeError(f"{name} is not a number")
        if isinstance(number, int) and abs(number) > 2**63:
            raise TypeError(f"{name} is too large")
        if name in _COUNTS and not 0 <= number < 2**53:
            raise TypeError(f"{name} is not a valid count")


def to_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Convert records to a data frame with verdicts in words; missing numbers are NaN."""
    rows = [{**row, "verdict": row["verdict"]["words"] if row["verdict"] else None} for row in to_dicts(records)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(_NUMBERS, float) | {"n": int})
