"""Readers of GEST: a CSV file of sentences, and a CSV file of gendered translations into all languages."""

import re
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.csv_records import read_records

_SENTENCES = {"sentence": "sentence", "stereotype": "stereotype"}
_PAIRS = {name: name for name in ("translator", "language", "original", "stereotype", "male", "female")}


def parse_sentences(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file such as `gest.csv`; ids are row numbers from 0."""
    return read_records(
        path, _SENTENCES, lambda number, values: _complete_values(number, values) | {"language": language}
    )


def parse_pairs(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of one language of `gender_variants.csv`; ids are row numbers of the whole file, from 0."""
    for record in read_records(path, _PAIRS, _complete_values):
        if record.values is None or record.values["language"] == language:
            yield record


def _complete_values(number: int, values: dict[str, object]) -> dict[str, object]:
    """Return the values with the id added and the stereotype as a number.

    A stereotype that is not a number is kept, so that validation reports it.
    """
    stereotype = values["stereotype"]
    if re.fullmatch("[0-9]{1,2}", str(stereotype)):
        stereotype = int(str(stereotype))
    return values | {"id": str(number), "stereotype": stereotype}


READS = {"gest-csv": parse_sentences, "gest-pairs-csv": parse_pairs}
