"""Reader of GEST: a CSV file of sentences and stereotype numbers."""

import re
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.csv_records import read_records

_NAMES = {"sentence": "sentence", "stereotype": "stereotype"}


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of a file such as `gest.csv`; ids are row numbers from 0."""

    def complete(number: int, values: dict[str, object]) -> dict[str, object]:
        stereotype = parse_stereotype_number(values["stereotype"])
        return values | {"id": str(number), "language": language, "stereotype": stereotype}

    return read_records(path, _NAMES, complete)


def parse_stereotype_number(value: object) -> object:
    """The value of a CSV cell as a number; unchanged if it is not one, for validation to report."""
    return int(str(value)) if re.fullmatch("[0-9]{1,2}", str(value)) else value


READS = {"gest-csv": parse}
