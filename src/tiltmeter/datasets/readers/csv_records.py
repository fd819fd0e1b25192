"""The records of a CSV file."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.forms import Problem

Complete = Callable[[int, dict[str, object]], dict[str, object]]
"""Makes the values of a record from the row number (from 0) and the row's values."""


def read_records(
    path: Path,
    names: Mapping[str, str],
    complete: Complete,
    *,
    delimiter: str = ",",
    decoded: Callable[[Path], str] = read_text,
) -> Iterator[RawRecord]:
    """A record for each row; `names` maps fields to columns, `decoded` gives the text of a file."""
    # newline="" keeps line breaks inside quoted values.
    reader = csv.reader(io.StringIO(decoded(path), newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        for column in names.values():
            if column not in header:
                raise BrokenFileError("missing-column", f"has no column {column or 'without a name, for the ids'}")
        for number, row in enumerate(filter(None, reader)):
            location = f"line {reader.line_num}"
            if len(row) == len(header):
                values = dict(zip(header, row, strict=True))
                fields: dict[str, object] = {field: values[column] for field, column in names.items()}
                yield RawRecord(location, complete(number, fields), names)
            else:
                message = f"has {len(row)} values where the header has {len(header)}"
                yield RawRecord(location, None, problems=[Problem("bad-csv", "", message)])
    except csv.Error as error:
        raise BrokenFileError("bad-csv", f"is not CSV: {error} (line {reader.line_num})") from error
