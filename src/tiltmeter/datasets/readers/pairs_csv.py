"""Sentence pairs: CrowS-Pairs, and the multilingual gender pairs made from it.

In both, the direction does not say which of the two sentences is the more stereotypical one: that is always the first
(`sent_more`, `A_x`). It says whether the pair's sentence about the disadvantaged group voices a stereotype (`stereo`)
or goes against one (`antistereo`), in which case that sentence is the second.
"""

from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.csv_records import read_records
from tiltmeter.datasets.validate import examine
from tiltmeter.forms import Item

_PAIRS = {"id": "ID", "more": "A_x", "less": "B_x", "direction": "stereo_antistereo"}
_CROWS = {"more": "sent_more", "less": "sent_less", "direction": "stereo_antistereo", "bias_type": "bias_type"}


def read_pairs_csv(path: Path, language: str) -> list[Item]:
    """The items of a file such as `cps_translated_de_formatted.csv`. An id is a row number of CrowS-Pairs."""
    return examine(str(path), parse_pairs(path, language)).accept()


def read_crows_csv(path: Path, language: str) -> list[Item]:
    """The items of CrowS-Pairs' own file. An id is a row number, from 0."""
    return examine(str(path), parse_crows(path, language)).accept()


def parse_pairs(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of a file of gender pairs."""
    about = {"language": language, "bias_type": "gender"}
    return read_records(path, _PAIRS, lambda _number, values: values | about)


def parse_crows(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of CrowS-Pairs."""
    return read_records(path, _CROWS, lambda number, values: values | {"id": str(number), "language": language})
