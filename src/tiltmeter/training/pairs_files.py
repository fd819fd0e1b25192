"""The files of a folder of sentence pairs: `train.parquet`, `held-out.parquet` and `summary.json`."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import DataError

if TYPE_CHECKING:
    import pyarrow.dataset

    from tiltmeter.training.pairs_store import PairRow

TRAIN, HELD_OUT, SUMMARY = "train.parquet", "held-out.parquet", "summary.json"
_COLUMNS = {
    "language": "string",
    "article": "string",
    "group": "int64",
    "first": "string",
    "second": "string",
    "label": "int8",
}
# Number of rows that are in memory while a file is written.
_ROW_GROUP = 32_768


@dataclass(frozen=True)
class ArticlePairs:
    """The sentence pairs in a folder as Arrow data sets, which are read in batches.

    Columns: `language`, `article` (of the first sentence), `group` (a number that is equal for all translations of the
    article), `first`, `second`, `label` (1 if `second` is the next sentence, 0 if `second` is from another article).
    """

    folder: Path
    languages: tuple[str, ...]
    train: "pyarrow.dataset.Dataset"
    held_out: "pyarrow.dataset.Dataset"
    summary: dict[str, Any]


def read_pairs(folder: Path) -> ArticlePairs:
    """Open a folder of sentence pairs that `tiltmeter train pairs` wrote."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    for name in (TRAIN, HELD_OUT, SUMMARY):
        if not (folder / name).is_file():
            raise DataError(f"{folder} has no {name}; create pairs with `tiltmeter train pairs`.")
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        languages = tuple(summary["languages"])
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{folder / SUMMARY} is not a summary of pairs; create the pairs again.") from None
    opened = {}
    for name in (TRAIN, HELD_OUT):
        try:
            dataset = ds.dataset(folder / name, format="parquet")
        except (pa.ArrowInvalid, OSError):
            raise DataError(f"{folder / name} is not a Parquet file; create the pairs again.") from None
        if missing := [column for column in _COLUMNS if column not in dataset.schema.names]:
            raise DataError(f"{folder / name} has no column {missing[0]}; create the pairs again.")
        opened[name] = dataset
    return ArticlePairs(folder, languages, opened[TRAIN], opened[HELD_OUT], summary)


def write_pairs(path: Path, rows: "Iterable[PairRow]") -> int:
    """Write sentence pairs to a Parquet file, one row group at a time, and return the number of pairs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(_COLUMNS)
    written, rest = 0, iter(rows)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while group := list(islice(rest, _ROW_GROUP)):
            columns = dict(zip(_COLUMNS, zip(*group, strict=True), strict=True))
            writer.write_table(pa.table(columns, schema=schema))
            written += len(group)
    return written
