"""Records: the rows of measures.json, each one number with its interval, its test and its verdict."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import pandas as pd

from tiltmeter.errors import DataError
from tiltmeter.measures.estimates import Estimate, detectable, equivalence, two_sided
from tiltmeter.measures.measure import Measure, measure_named
from tiltmeter.measures.verdict import Verdict

# The part that holds several parts pooled.
OVERALL = "overall"
ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One number of a run.

    `view` says how the items were divided (all of them, by bias type, by target term, …) and `group` which of the
    divisions this is. `low` and `high` are the ends of its 95% interval, made of `n` items in `clusters` clusters;
    where there is none, `why` says why. `p_value` is that of its test against `ideal`; `p_adjusted` the same after
    Holm's correction over a family of `tests`. `p_equivalence` (within `margin` of the ideal) and `p_beyond` (beyond
    it) are corrected, too. `detectable` is the effect that so many items show four times in five; of ratios, its
    logarithm.
    `family` says how the model was asked, `kind` what kind of model it is.
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

    def __post_init__(self) -> None:
        # JSON has no NaN, and a number nobody can read must stop the run rather than sit in its results.
        for name in _NUMBERS:
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise DataError(f"{self} has no finite {name} ({number})")
        if (self.low is None) != (self.high is None):
            raise DataError(f"{self} has only one end of an interval")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise DataError(f"{self} has an interval from {self.low} to {self.high}")

    def __str__(self) -> str:
        place = f"{self.benchmark}/{self.part}:{self.language}"
        return f"{self.measure} of {self.model} on {place} ({self.view}: {self.group})"


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


class Measured(Protocol):
    """What numbers are numbers of: one model on one benchmark in one language, under one protocol."""

    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def benchmark(self) -> str: ...  # noqa: D102
    @property
    def language(self) -> str: ...  # noqa: D102
    @property
    def protocol(self) -> str: ...  # noqa: D102


def record_of(
    measured: Measured,
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
    **more: Any,
) -> Record:
    """One number of what was measured; `ends` are those of its interval."""
    measure = measure if isinstance(measure, Measure) else measure_named(measure)
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
        **more,
    )


def estimated(
    measured: Measured,
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
    """An estimate as a record: with its interval, and if its measure has an ideal, with its tests.

    `margin` is the one to test equivalence with, where the measure has one; its own if none is given.
    """
    more: dict[str, Any] = {}
    if tested and measure.ideal is not None and not measure.best_at_an_end:
        more["p_value"] = two_sided(estimate, measure.ideal)
        if measure.margin is not None:
            margin = margin or measure.margin
            low, high = measure.limits(margin)
            more |= {
                "margin": margin,
                "p_equivalence": equivalence(estimate, low, high),
                "p_beyond": min(estimate.above(high), estimate.below(low)),
                "detectable": detectable(estimate, ALPHA),
            }
    return record_of(
        measured,
        part,
        view,
        group,
        measure,
        estimate.value,
        n,
        ends=estimate.interval(),
        standard_error=estimate.spread.error,
        clusters=estimate.spread.clusters,
        **more,
    )


def row_key(record: Record) -> tuple[str, ...]:
    """What the records of one row share."""
    return (record.model, record.benchmark, record.language, record.part, record.protocol, record.view, record.group)


def parts_key(record: Record) -> tuple[str, ...]:
    """What a part and what is pooled of it share; of their protocols only the case of a part may differ."""
    family = protocol_family(record.protocol)
    return record.model, record.benchmark, record.language, family, record.view, record.group, record.measure


def protocol_family(protocol: str) -> str:
    """The protocol without the case of a part; of pooled parts, that of the first.

    >>> protocol_family("published/d"), protocol_family("published + published/d")
    ('published', 'published')
    """
    return protocol.split(" + ")[0].partition("/")[0]


def to_dicts(records: Iterable[Record]) -> list[dict[str, Any]]:
    """The records as measures.json holds them."""
    return [
        {name: getattr(record, name) for name in COLUMNS if name != "verdict"}
        | {"verdict": record.verdict.to_dict() if record.verdict else None}
        for record in records
    ]


def from_dicts(rows: Iterable[Mapping[str, Any]]) -> list[Record]:
    """The records of a measures.json that was read back."""
    records = []
    for number, row in enumerate(rows, start=1):
        try:
            verdict = Verdict.from_dict(row["verdict"]) if row.get("verdict") else None
            records.append(Record(**{**row, "verdict": verdict}))
        except (TypeError, AttributeError) as error:
            raise DataError(f"Record {number} is not a row of measures.json: {error}.") from None
    return records


def to_frame(records: Iterable[Record]) -> pd.DataFrame:
    """The records as a data frame, one row each, verdicts in words; what is None is NaN there."""
    rows = [{**row, "verdict": row["verdict"]["words"] if row["verdict"] else None} for row in to_dicts(records)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(_NUMBERS, float) | {"n": int})
