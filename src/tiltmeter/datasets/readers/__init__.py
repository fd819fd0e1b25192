"""Readers, one module per family of file formats.

Each has `READS`: for each format a function from a file and the language of its items to raw records, which `validate`
turns into items.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.validation import ValidationResult, validate_records
from tiltmeter.registry import find_package_objects

_PARSERS: dict[str, Callable[[Path, str], Iterator[RawRecord]]] = {
    format: parse
    for reads in find_package_objects("tiltmeter.datasets.readers", "READS")
    for format, parse in reads.items()
}
FORMATS = tuple(_PARSERS)


def validate_file(path: Path, format: str, language: str) -> ValidationResult:
    """Read and validate a file in the given format."""
    return validate_records(str(path), _PARSERS[format](path, language))
