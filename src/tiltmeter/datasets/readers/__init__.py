"""Readers, one per file format; each yields raw records, which `validate` turns into items."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, get_args

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers import (
    gest_csv,
    gest_pairs_csv,
    jsonl,
    pairs_csv,
    stereoset_json,
    stereoset_pickle,
    winobias,
)
from tiltmeter.datasets.validate import Examination, examine

Format = Literal[
    "jsonl",
    "stereoset-json",
    "stereoset-pickle",
    "pairs-csv",
    "crows-csv",
    "gest-csv",
    "gest-pairs-csv",
    "winobias",
]
FORMATS: tuple[Format, ...] = get_args(Format)

_PARSERS: dict[Format, Callable[[Path, str], Iterator[RawRecord]]] = {
    "jsonl": jsonl.parse,
    "stereoset-json": stereoset_json.parse,
    "stereoset-pickle": stereoset_pickle.parse,
    "pairs-csv": pairs_csv.parse_pairs,
    "crows-csv": pairs_csv.parse_crows,
    "gest-csv": gest_csv.parse,
    "gest-pairs-csv": gest_pairs_csv.parse,
    "winobias": winobias.parse,
}


def examine_file(path: Path, format: Format, language: str) -> Examination:
    """Read and validate a file in the given format."""
    return examine(str(path), _PARSERS[format](path, language))
