"""Readers of CrowS-Pairs, and of the multilingual gender pairs that are derived from CrowS-Pairs.

The first sentence (`sent_more`, `A_x`) is always the more stereotypical one. If the direction is `stereo`, the first
sentence is about the disadvantaged group and expresses a stereotype; if it is `antistereo`, the second sentence is
about the disadvantaged group and violates a stereotype.
"""

from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.csv_records import read_records

_PAIRS = {"id": "ID", "more": "A_x", "less": "B_x", "direction": "stereo_antistereo"}
_CROWS = {"more": "sent_more", "less": "sent_less", "direction": "stereo_antistereo", "bias_type": "bias_type"}


def parse_pairs(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file such as `cps_translated_de_formatted.csv`; ids are row numbers of CrowS-Pairs."""
    constant = {"language": language, "bias_type": "gender"}
    return read_records(path, _PAIRS, lambda _number, values: values | constant)


def parse_crows(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of the original file of CrowS-Pairs; ids are row numbers from 0."""
    return read_records(path, _CROWS, lambda number, values: values | {"id": str(number), "language": language})


READS = {"pairs-csv": parse_pairs, "crows-csv": parse_crows}
