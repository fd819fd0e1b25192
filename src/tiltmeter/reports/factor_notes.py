"""Notes on factors: properties that items share, such as the template, and that make confidence intervals wider."""

import math
from collections.abc import Iterable, Sequence

from tiltmeter.measures import select_deciding_record
from tiltmeter.measures.measure import name_clusters
from tiltmeter.measures.records import Record
from tiltmeter.reports.formatting import join_words
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.record_rows import build_rows

# Factors that widen an interval by less than this are not mentioned.
_SMALLEST_WIDENING = 1.1


def describe_dominant_factors(records: Iterable[Record]) -> list[str]:
    """Return a sentence for each factor that widens intervals most; `records` are of one model on one benchmark.

    A factor is a property that items share, such as the template. The sentence names the parts and languages, and says
    how many times wider the intervals are than for independent items.
    """
    deciding = [record for row in build_rows(records) if (record := select_deciding_record(row)) is not None]
    dominated = [record for record in deciding if record.factor and _compute_widening(record) >= _SMALLEST_WIDENING]
    return [_describe_factor(factor, group) for factor, group in group_by(dominated, lambda r: r.factor or "").items()]


def _describe_factor(factor: str, records: Sequence[Record]) -> str:
    widenings = sorted(_compute_widening(record) for record in records)
    size = f"{widenings[0]:.1f}"
    if f"{widenings[-1]:.1f}" != size:
        size = f"{size} to {widenings[-1]:.1f}"
    places = join_words(list(dict.fromkeys(f"{record.language} {record.part}" for record in records)))
    return (
        f"Results of items with the same {name_clusters([factor], 1)} are correlated ({places}): intervals are {size} "
        "times as wide as for independent items."
    )


def _compute_widening(record: Record) -> float:
    return math.sqrt(record.design_effect or 1.0)
