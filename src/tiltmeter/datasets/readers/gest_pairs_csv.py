"""Reader of GEST's gendered translations: a CSV file of pairs in all languages, such as `gender_variants.csv`."""

from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.csv_records import read_records
from tiltmeter.datasets.readers.gest_csv import parse_stereotype_number

_NAMES = {name: name for name in ("translator", "language", "original", "stereotype", "male", "female")}


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of one language; ids are row numbers of the whole file, from 0."""

    def complete(number: int, values: dict[str, object]) -> dict[str, object]:
        return values | {"id": str(number), "stereotype": parse_stereotype_number(values["stereotype"])}

    for record in read_records(path, _NAMES, complete):
        if record.values is None or record.values["language"] == language:
            yield record


READS = {"gest-pairs-csv": parse}
