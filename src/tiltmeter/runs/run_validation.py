"""Validation of a run's files when they are read, because a user may have edited them or copied only some."""

import math
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tiltmeter.errors import DataError
from tiltmeter.measures.records import Record
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES
from tiltmeter.runs.typed_json import check_type

# The maximum number of rows of a table. A damaged small file can claim to have any number of rows.
_MOST_ROWS = 50_000_000

_Content = TypeVar("_Content")

_TEXTS = ("model", "benchmark", "part", "language", "item", "candidate", "role", "protocol")
# The columns that identify a row of scores.
_ROW = ("model", "benchmark", "part", "language", "protocol", "item", "candidate", "role")


def read_table(path: Path) -> pd.DataFrame:
    """Return a Parquet file as a data frame."""
    table: pd.DataFrame = _read_parquet(path, lambda file: _validate_table(file.read()).to_pandas())
    return table


def read_columns(path: Path, without: Collection[str] = ()) -> dict[str, NDArray[Any]]:
    """Return the columns of a Parquet file as arrays, except the columns `without`; fast for small files."""

    def columns(file: pq.ParquetFile) -> dict[str, NDArray[Any]]:
        table = _validate_table(file.read([name for name in file.schema_arrow.names if name not in without]))
        return {name: table.column(name).to_numpy() for name in table.column_names}

    return _read_parquet(path, columns)


def read_file_metadata(path: Path, key: bytes) -> str | None:
    """Return a text from the metadata of a Parquet file without reading its rows; None if the file has no such key."""

    def decode(file: pq.ParquetFile) -> str | None:
        value = (file.schema_arrow.metadata or {}).get(key)
        return None if value is None else value.decode()

    return _read_parquet(path, decode)


def _read_parquet(path: Path, read: Callable[[pq.ParquetFile], _Content]) -> _Content:
    """Call `read` with an open Parquet file; raise a DataError if the file is missing, damaged or too large."""
    if not path.is_file():
        raise DataError(f"{path.name} is missing.")
    try:
        file = pq.ParquetFile(path)
        rows = file.metadata.num_rows
        if rows > _MOST_ROWS:
            raise DataError(f"{path.name} has {rows:,} rows, more than the maximum of {_MOST_ROWS:,}.")
        return read(file)
    except DataError:
        raise
    except Exception as error:  # a damaged file may raise any exception
        first, *_ = [*str(error).strip().splitlines(), type(error).__name__]
        raise DataError(f"{path.name} is damaged ({first}).") from error


def _validate_table(table: pa.Table) -> pa.Table:
    """Return the table; raise an error for invalid UTF-8 or offsets, which pandas would detect only later."""
    table.validate(full=True)
    return table


def validate_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the table of scores; raise a DataError if it is invalid."""
    _validate_columns(SCORES, scores, (*_TEXTS, "score"))
    if scores.empty:
        raise DataError(f"{SCORES} has no rows.")
    for name in _TEXTS:
        if not _has_only_texts(scores[name]):
            raise DataError(f"The column {name!r} of {SCORES} has values that are not texts.")
    if not pd.api.types.is_float_dtype(scores["score"]) and not pd.api.types.is_integer_dtype(scores["score"]):
        raise DataError(f"The column 'score' of {SCORES} has values that are not numbers.")
    # A translation without a determined gender has a missing score.
    present = scores["score"].dropna() if "translation" in scores.columns else scores["score"]
    if not present.map(math.isfinite).all():
        raise DataError(f"The column 'score' of {SCORES} has values that are not finite.")
    if scores.duplicated(list(_ROW)).any():
        raise DataError(f"{SCORES} has a duplicate row.")
    return scores


def validate_rows(rows: Any) -> list[dict[str, Any]]:
    """Return the rows of `measures.json`; raise a DataError if it has no rows. The fields are checked later."""
    for number, row in enumerate(check_type(rows, (list,), MEASURES), start=1):
        check_type(row, (dict,), f"record {number} of {MEASURES}")
    if not rows:
        raise DataError(f"{MEASURES} has no records.")
    return list(rows)


def validate_table(name: str, table: pd.DataFrame, schema: pa.Schema) -> pd.DataFrame:
    """Return the table; raise a DataError if a column of the schema is missing or has the wrong type."""
    _validate_columns(name, table, schema.names)
    try:
        pa.Table.from_pandas(table[schema.names], schema=schema, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{name} has values of the wrong type ({error}).") from error
    for field in schema:
        if field.type != pa.float64() and table[field.name].isna().any():
            raise DataError(f"The column {field.name!r} of {name} has missing values.")
    return table


def validate_consistency(manifest: Manifest, scores: pd.DataFrame, records: Sequence[Record]) -> None:
    """Raise a DataError if manifest, scores and records have different models or benchmarks."""
    benchmarks = set(scores["benchmark"])
    for record in records:
        if record.benchmark not in benchmarks:
            raise DataError(f"{MEASURES} and {SCORES} belong to different runs: only one of them has {record}.")
    asked = {(entry.model, entry.benchmark) for entry in manifest.asked}
    scored = set(scores[["model", "benchmark"]].drop_duplicates().itertuples(index=False, name=None))
    if asked and (alone := sorted(scored - asked)):
        raise DataError(
            f"{MANIFEST} and {SCORES} belong to different runs: only one of them has {alone[0][0]} on {alone[0][1]}."
        )


def _has_only_texts(column: pd.Series) -> bool:
    """Return whether all values of a column are strings; columns of the types category and object are checked too."""
    if isinstance(column.dtype, pd.StringDtype):
        return bool(column.notna().all())
    return bool(column.map(lambda value: isinstance(value, str)).all())


def _validate_columns(name: str, table: pd.DataFrame, columns: Sequence[str]) -> None:
    if missing := [column for column in columns if column not in table.columns]:
        raise DataError(f"{name} has no column {missing[0]!r}.")
