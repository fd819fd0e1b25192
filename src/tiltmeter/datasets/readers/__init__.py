"""Readers of the file formats of data sets, one module for each format or group of formats.

The dictionary `READS` of each module maps the name of a format to a function. The function takes the path of a file and
the language of its items, and returns raw records (see `datasets.raw_records`).
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.validation import ValidationResult, validate_records
from tiltmeter.registry import OWN_PACKAGE, Component, find_package_objects, index_components

_PARSERS: dict[str, Callable[[Path, str], Iterator[RawRecord]]] = index_components(
    "readers",
    (
        Component(format, OWN_PACKAGE, parse)
        for reads in find_package_objects("tiltmeter.datasets.readers", "READS")
        for format, parse in reads.items()
    ),
)
FORMATS = tuple(_PARSERS)


def validate_file(path: Path, format: str, language: str) -> ValidationResult:
    """Read and validate a file in the given format; return its items and findings."""
    return validate_records(str(path), _PARSERS[format](path, language))
