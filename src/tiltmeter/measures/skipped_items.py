"""Worst-case bounds over the items of a run that have no score, for example because they are too long for the model.

The strata of skipped items are not known here, so each skipped item counts as much as an average item. Measures without
bounds, such as g_s, have no worst case.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tiltmeter.measures.estimates import Interval, Mean, compute_equivalence_p
from tiltmeter.measures.measure import Measure, get_measure
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.measures.standard_errors import StandardError

# The model, benchmark, part and language of items.
PartKey = tuple[str, str, str, str]


def widen_for_skipped_items(records: Iterable[Record], skipped: Mapping[PartKey, int]) -> list[Record]:
    """Return the records with the worst cases of skipped items; `skipped` maps parts to numbers of skipped items."""
    return [
        _widen_record(record, count) if (count := _count_skipped(record, skipped)) and _is_tested(record) else record
        for record in records
    ]


def _count_skipped(record: Record, skipped: Mapping[PartKey, int]) -> int:
    if record.view != "all":
        return 0  # it is not known to which group of items a skipped item belongs
    if record.part != OVERALL:
        return skipped.get((record.model, record.benchmark, record.part, record.language), 0)
    names = (record.model, record.benchmark, record.language)
    return sum(count for key, count in skipped.items() if (key[0], key[1], key[3]) == names)


def _is_tested(record: Record) -> bool:
    tested = None not in (record.p_value, record.margin, record.standard_error, record.ideal)
    return tested and get_measure(record.measure).bounds is not None


def _widen_record(record: Record, count: int) -> Record:
    """Return the record with `count` more items, all with the lowest or all with the highest value of the scale."""
    measure, share = get_measure(record.measure), count / (record.n + count)
    assert measure.bounds is not None
    given = (record.lowest_possible, record.highest_possible)
    lowest, highest = (
        (1 - share) * (record.value if value is None else value) + share * bound
        for value, bound in zip(given, measure.bounds, strict=True)
    )
    missing = 1 - (1 - (record.missing or 0.0)) * (1 - share)
    widened = replace(record, missing=missing, lowest_possible=lowest, highest_possible=highest)
    return _raise_p_values(widened, measure, (lowest, highest))


def _raise_p_values(record: Record, measure: Measure, ends: Interval) -> Record:
    """Return the record with the p-values of the worst case, which are at least those of the record."""
    error = StandardError(record.standard_error or 0.0, max(1, record.df or record.n - 1), record.clusters)
    lowest, highest = (Mean(end, error) for end in ends)
    ideal, (low, high) = record.ideal or 0.0, measure.limits(record.margin or 0.0)
    biased = 2 * min(lowest.compute_p_above(ideal), highest.compute_p_below(ideal))
    equivalent = max(compute_equivalence_p(lowest, low, high), compute_equivalence_p(highest, low, high))
    beyond = min(lowest.compute_p_above(high), highest.compute_p_below(low))
    return replace(
        record,
        p_value=max(min(1.0, biased), record.p_value or 0.0),
        p_equivalence=max(equivalent, record.p_equivalence or 0.0),
        p_beyond=max(beyond, record.p_beyond or 0.0),
    )
