"""Records: the rows of measures.json, each one value with its interval, test and verdict."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

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
from tiltmeter.measures.verdict import Verdict

# The value of `part` for several parts pooled.
OVERALL = "overall"
ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One value of a measure in a run.

    `view` is how the items are grouped (all of them, by bias type, by target term, …), `group` the name of the group.
    `low` and `high` are the ends of the 95% interval, from `n` items in `clusters` clusters; if there is none, `why` is
    the reason. `p_value` is that of the test against `ideal`, `p_adjusted` the same after Holm's correction
    over a family of `tests` tests. `p_equivalence` (within `margin` of the ideal) and `p_beyond` (beyond it) are
    corrected, too. `detectable` is the minimum detectable effect with a power of 80%; for ratios, its logarithm.
    `family` is the family of answers (likelihood, next-sentence, …), `kind` the kind of model. `label` is the name of
    the group for display, where the data name it.
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
    margin: float | None = None
    p_equivalence: float | None = None
    p_beyond: float | None = None
    p_adjusted: float | None = None
    tests: int | None = None
    detectable: float | None = None
    why: str | None = None
    family: str | None = None
    kind: str | None = None
    verdict: Verdict | None = None
    label: str | None = None

    @property
    def interval(self) -> Interval | None:
        """The 95% interval; None if there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __post_init__(self) -> None:
        # JSON has no NaN.
        for name in _NUMBERS:
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise DataError(f"{self} has no finite {name} ({number})")
        if (self.low is None) != (self.high is None):
            raise DataError(f"{self} has only one end of an interval")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise DataError(f"{self} has an interval from {self.low} to {self.high}")

    def __str__(self) -> str:
        data = f"{self.benchmark}/{self.part}:{self.language}"
        return f"{self.measure} of {self.model} on {data} ({self.view}: {self.group})"


COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(Record))
_NUMBERS = (
    "value",
    "low",
    "high",
    "ideal",
    "p_value",
    "standard_error",
    "margin",
    "p_equivalence",
    "p_beyond",
    "p_adjusted",
    "detectable",
)
# Fields that rows of earlier versions do not have.
_LATER = ("label", "verdict")
_FIRST = COLUMNS[: COLUMNS.index("p_value")]
_COUNTS = ("n", "clusters", "tests")
_TEXTS_OR_NONE = ("why", "family", "kind", "label")
_TEXTS = ("model", "benchmark", "part", "language", "view", "group", "measure", "protocol", *_TEXTS_OR_NONE)


class MeasuredPortion(Protocol):
    """One model on one benchmark in one language, under one protocol."""

    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def benchmark(self) -> str: ...  # noqa: D102
    @property
    def language(self) -> str: ...  # noqa: D102
    @property
    def protocol(self) -> str: ...  # noqa: D102


def build_record(
    measured: MeasuredPortion,
    part: str,
    view: str,
    group: str,
    measure: Measure | str,
    value: float,
    n: int,
    *,
    ends: tuple[float, float] | None = None,
    p_value: float | None = None,
    standard_error: float | None = None,
    clusters: int | None = None,
    why: str | None = None,
    **other_fields: Any,
) -> Record:
    """A record of one value; `ends` are those of its interval."""
    measure = measure if isinstance(measure, Measure) else get_measure(measure)
    low, high = ends or (None, None)
    return Record(
        model=measured.model,
        benchmark=measured.benchmark,
        part=part,
        language=measured.language,
        view=view,
        group=group,
        measure=measure.name,
        value=value,
        low=low,
        high=high,
        n=n,
        ideal=measure.ideal,
        protocol=measured.protocol,
        p_value=p_value,
        standard_error=standard_error,
        clusters=clusters,
        why=why,
        **other_fields,
    )


def build_estimate_record(
    measured: MeasuredPortion,
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
    """The record of an estimate, with its interval and, if the measure has an ideal, its tests.

    `margin` overrides the measure's margin of equivalence.
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
                "detectable": compute_detectable_effect(estimate, ALPHA),
            }
    return build_record(
        measured,
        part,
        view,
        group,
        measure,
        estimate.value,
        n,
        ends=estimate.interval(),
        standard_error=estimate.standard_error.value,
        clusters=estimate.standard_error.clusters,
        **tests,
    )


def get_row_key(record: Record) -> tuple[str, ...]:
    """The key that the records of one row have in common."""
    return (record.model, record.benchmark, record.language, record.part, record.protocol, record.view, record.group)


def get_parts_key(record: Record) -> tuple[str, ...]:
    """The key that the records of single parts and of the pooled parts have in common."""
    family = get_base_protocol(record.protocol)
    return record.model, record.benchmark, record.language, family, record.view, record.group, record.measure


def get_base_protocol(protocol: str) -> str:
    """The protocol without its case (`/d`); for pooled parts, that of the first.

    >>> get_base_protocol("published/d"), get_base_protocol("published + published/d")
    ('published', 'published')
    """
    return protocol.split(" + ")[0].partition("/")[0]


def to_dicts(records: Iterable[Record]) -> list[dict[str, Any]]:
    """The records in the format of measures.json."""
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
            # Rows without a verdict are of earlier versions, and have fewer fields.
            needed = [name for name in COLUMNS if name not in _LATER] if "verdict" in row else _FIRST
            if missing := [name for name in needed if name not in row]:
                raise TypeError(f"it has no {missing[0]!r}")
            records.append(Record(**{**row, "verdict": verdict}))
        except (TypeError, AttributeError) as error:
            raise DataError(f"Record {number} is not a row of measures.json: {error}.") from None
    return records


def _check_types(row: Mapping[str, Any]) -> None:
    """A TypeError if a field of a record is not of its type."""
    for name in _TEXTS:
        if name in row and not (isinstance(row[name], str) or (row[name] is None and name in _TEXTS_OR_NONE)):
            raise TypeError(f"its {name} is not a text")
    for name in (*_NUMBERS, *_COUNTS):
        number, kinds = row.get(name), int if name in _COUNTS else int | float
        if (number is None and name in ("value", "n")) or isinstance(number, bool):
            raise TypeError(f"its {name} is not a number")
        if number is not None and not isinstance(number, kinds):
            raise TypeError(f"its {name} is not a number")
        if isinstance(number, int) and abs(number) > 2**63:
            raise TypeError(f"its {name} is too large")
        if name in _COUNTS and isinstance(number, int) and not 0 <= number < 2**53:
            raise TypeError(f"its {name} is not a number of items or tests")


def to_frame(records: Iterable[Record]) -> pd.DataFrame:
    """The records as a data frame, with verdicts in words and NaN for None."""
    rows = [{**row, "verdict": row["verdict"]["words"] if row["verdict"] else None} for row in to_dicts(records)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(_NUMBERS, float) | {"n": int})
