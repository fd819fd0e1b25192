"""Sequential runs (`--until-conclusive`): measure growing samples until each verdict is settled.

Each sample is a look at the same items, whose tests are corrected for all looks (see `measures.looks`). The rule stops
at the first look at which all primary verdicts are settled, or when all items are measured.
"""

from collections.abc import Sequence
from dataclasses import replace

from tiltmeter.measures import select_deciding_record
from tiltmeter.measures.pooled_rows import get_pooling_key
from tiltmeter.measures.records import OVERALL, Record, get_row_key
from tiltmeter.runs.result import Result

# The number of items of each part and language in the first look. With fewer items, nearly every verdict is "too few".
FIRST_LOOK = 100
# A look with more than this share of all items would cost power, and save few items.
_LARGEST_SHARE = 0.75
_OPEN = ("inconclusive", "too few")


def list_look_sizes(largest: int) -> list[int]:
    """Return the numbers of items of the looks: 100, 200, 400 and so on, and at the end all items.

    >>> list_look_sizes(2106), list_look_sizes(60)
    ([100, 200, 400, 800, 2106], [60])
    """
    sizes = []
    size = FIRST_LOOK
    while size <= _LARGEST_SHARE * largest:
        sizes.append(size)
        size *= 2
    return [*sizes, largest]


def find_open_rows(records: Sequence[Record]) -> list[Record]:
    """Return the records of the primary verdicts that are not settled: "inconclusive" and "too few items".

    There is one verdict for each model, data set and language, or one for each part if the parts are not pooled.
    """
    rows: dict[tuple[str, ...], dict[str, Record]] = {}
    for record in records:
        if record.view == record.group == "all":
            rows.setdefault(get_row_key(record), {})[record.measure] = record
    primary = [found for row in rows.values() if (found := select_deciding_record(row)) is not None]
    pooled = {get_pooling_key(record) for record in primary if record.part == OVERALL}
    return [
        record
        for record in primary
        if (record.part == OVERALL or get_pooling_key(record) not in pooled)
        and record.verdict is not None
        and record.verdict.kind in _OPEN
    ]


def describe_stop(result: Result, look: int, size: int, largest: int) -> str:
    """Return a sentence that says after how many items the run stopped, and why."""
    open_rows = find_open_rows(result.records)
    looks = f"{look} {'look' if look == 1 else 'looks'}"
    if not open_rows:
        return (
            f"The run stopped after {size:,} of {largest:,} items of each part and language ({looks}), because all "
            "verdicts are settled."
        )
    places = sorted({f"{row.benchmark}/{row.part}:{row.language}" for row in open_rows})
    return (
        f"All {largest:,} items of each part and language were measured ({looks}), and {len(open_rows)} of the "
        f"verdicts are still open: {', '.join(places[:3])}{' and others' if len(places) > 3 else ''}."
    )


def add_stop_note(result: Result, note: str) -> Result:
    """Return the result with the note first in its manifest."""
    return replace(result, manifest=replace(result.manifest, notes=(note, *result.manifest.notes)))
