"""The shape of a run's files, checked when a run is read: a folder may be edited or copied in part."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tiltmeter.errors import DataError
from tiltmeter.measures.records import Record
from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES

# The most rows of a table: a small file can claim any number.
_MOST_ROWS = 50_000_000

_Content = TypeVar("_Content")

_NUMBER = (int, float)
_TEXT_OR_NONE, _NUMBER_OR_NONE = (str, type(None)), (int, float, type(None))
_LABEL: dict[str, Any] = {"benchmark": str, "part": str, "language": str}
_ASKED = {"model": str, **_LABEL, "protocol": str, "family": str, "kind": _TEXT_OR_NONE}
# Fields that entries of a manifest must have, and those that they may have, with their types.
_REQUIRED: dict[str, dict[str, Any]] = {
    "models": {"name": str},
    "data": _LABEL,
    "asked": _ASKED,
    "refused": {"model": str, **_LABEL, "reason": str},
    "skipped": {"model": str, **_LABEL, "item": str, "reason": str},
    "flagged": {"model": str, **_LABEL, "item": str, "reason": str},
}
_OPTIONAL: dict[str, dict[str, Any]] = {
    "models": {
        "kind": _TEXT_OR_NONE,
        "type": _TEXT_OR_NONE,
        "architecture": _TEXT_OR_NONE,
        "revision": _TEXT_OR_NONE,
        "weights": _TEXT_OR_NONE,
        "dtype": _TEXT_OR_NONE,
        "device": _TEXT_OR_NONE,
        "parameters": _NUMBER_OR_NONE,
        "layers": _NUMBER_OR_NONE,
        "vocabulary": _NUMBER_OR_NONE,
        "bytes": _NUMBER_OR_NONE,
        "compute": (dict, type(None)),
        "answers": (dict, str, type(None)),
        "quantized": (dict, type(None)),
        "split": (dict, type(None)),
        "adapter": (dict, type(None)),
        "unused_modules": (dict, type(None)),
        "disabled": (dict, type(None)),
    },
    "data": {"items": int, "available": (int, type(None)), "files": (dict, type(None))},
    "asked": {"tokenizer": _TEXT_OR_NONE, "unknown": int, "items": int, "zero": int},
    "flagged": {"unknown": int, "scored": int},
}
_WHOLE: dict[str, Any] = {
    "request": dict,
    "notes": list,
    "statistics": dict,
    "versions": dict,
    "python": str,
    "platform": str,
    "finished": str,
    "seconds": _NUMBER,
    "digests": dict,
}
_NEEDED = ("request", "models", "data", "refused", "skipped")

_TEXTS = ("model", "benchmark", "part", "language", "item", "candidate", "role", "protocol")
# What tells a row of scores from all others.
_ROW = ("model", "benchmark", "part", "language", "protocol", "item", "candidate", "role")


def read_table(path: Path) -> pd.DataFrame:
    """A Parquet file as a data frame."""
    table: pd.DataFrame = _read_parquet(path, lambda file: _validate_table(file.read()).to_pandas())
    return table


def read_columns(path: Path, without: Collection[str] = ()) -> dict[str, NDArray[Any]]:
    """The columns of a Parquet file as arrays, without those named; far faster than a data frame for a small file."""

    def columns(file: pq.ParquetFile) -> dict[str, NDArray[Any]]:
        table = _validate_table(file.read([name for name in file.schema_arrow.names if name not in without]))
        return {name: table.column(name).to_numpy() for name in table.column_names}

    return _read_parquet(path, columns)


def _read_parquet(path: Path, read: Callable[[pq.ParquetFile], _Content]) -> _Content:
    """What `read` returns of a Parquet file; a DataError if it is missing, damaged or too large."""
    if not path.is_file():
        raise DataError(f"{path.name} is missing.")
    try:
        file = pq.ParquetFile(path)
        rows = file.metadata.num_rows
        if rows > _MOST_ROWS:
            raise DataError(f"{path.name} claims to have {rows:,} rows.")
        return read(file)
    except DataError:
        raise
    except Exception as error:  # a damaged file may raise anything
        first, *_ = [*str(error).strip().splitlines(), type(error).__name__]
        raise DataError(f"{path.name} is damaged ({first}).") from error


def _validate_table(table: pa.Table) -> pa.Table:
    """The table; an error if its texts are not UTF-8 or its offsets lead nowhere, which pandas finds only later."""
    table.validate(full=True)
    return table


def validate_manifest(manifest: Any) -> dict[str, Any]:
    """The manifest; a DataError if it is not one."""
    found: dict[str, Any] = _validate_type(manifest, dict, MANIFEST)
    for name in _NEEDED:
        if name not in found:
            raise DataError(f"{MANIFEST} has no {name!r}.")
    for name, kind in _WHOLE.items():
        if name in found:
            _validate_type(found[name], kind, f"{name!r} of {MANIFEST}")
    for note in found.get("notes", ()):
        _validate_type(note, str, f"a note of {MANIFEST}")
    for name, fields in _REQUIRED.items():
        for number, entry in enumerate(_validate_type(found.get(name, []), list, f"{name!r} of {MANIFEST}"), start=1):
            where = f"entry {number} of {name!r} in {MANIFEST}"
            _validate_type(entry, dict, where)
            for field, kind in fields.items():
                if field not in entry:
                    raise DataError(f"{where} has no {field!r}.")
                _validate_type(entry[field], kind, f"{field!r} of {where}")
            for field, kind in _OPTIONAL.get(name, {}).items():
                if field in entry:
                    _validate_type(entry[field], kind, f"{field!r} of {where}")
            known = {**fields, **_OPTIONAL.get(name, {})}
            if name == "asked" and (unknown := [field for field in entry if field not in known]):
                raise DataError(f"{where} has {unknown[0]!r}, which has no meaning there.")
    _validate_request(found["request"])
    margins = _validate_type(found.get("statistics", {}).get("margins", {}), dict, f"'margins' of {MANIFEST}")
    for margin in margins.values():
        _validate_type(margin, _NUMBER, f"a margin of {MANIFEST}")
    return found


def _validate_request(request: Mapping[str, Any]) -> None:
    for name in ("models", "on"):
        if isinstance(request.get(name, []), list):
            for entry in request.get(name, []):
                _validate_type(entry, str, f"{name!r} of the request in {MANIFEST}")
        else:
            _validate_type(request[name], str, f"{name!r} of the request in {MANIFEST}")
    for name in ("protocol", "kind", "dtype", "perturb", "tokenizer"):
        _validate_type(request.get(name), _TEXT_OR_NONE, f"{name!r} of the request in {MANIFEST}")
    _validate_type(request.get("limit"), (int, type(None)), f"'limit' of the request in {MANIFEST}")


def validate_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """The table of scores; a DataError if it is not one."""
    _validate_columns(SCORES, scores, (*_TEXTS, "score"))
    if scores.empty:
        raise DataError(f"{SCORES} has no rows.")
    for name in _TEXTS:
        # Categories and plain objects are texts, too, if all their values are.
        if not scores[name].map(lambda value: isinstance(value, str)).all():
            raise DataError(f"The column {name!r} of {SCORES} holds values that are no texts.")
    if not pd.api.types.is_float_dtype(scores["score"]) and not pd.api.types.is_integer_dtype(scores["score"]):
        raise DataError(f"The column 'score' of {SCORES} holds values that are no numbers.")
    # A translation whose gender is not determined has a gap.
    present = scores["score"].dropna() if "translation" in scores.columns else scores["score"]
    if not present.map(math.isfinite).all():
        raise DataError(f"The column 'score' of {SCORES} holds values that are not finite.")
    if scores.duplicated(list(_ROW)).any():
        raise DataError(f"{SCORES} holds a row twice.")
    return scores


def validate_rows(rows: Any) -> list[dict[str, Any]]:
    """The rows of measures.json; a DataError if they are none. Their fields are checked when records are made."""
    for number, row in enumerate(_validate_type(rows, list, MEASURES), start=1):
        _validate_type(row, dict, f"record {number} of {MEASURES}")
    if not rows:
        raise DataError(f"{MEASURES} has no records.")
    return list(rows)


def validate_table(name: str, table: pd.DataFrame, schema: pa.Schema) -> pd.DataFrame:
    """A table with at least the columns of a schema, of its types; a DataError if it is not one."""
    _validate_columns(name, table, schema.names)
    try:
        pa.Table.from_pandas(table[schema.names], schema=schema, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{name} holds values of another type than a run writes ({error}).") from error
    for field in schema:
        if field.type != pa.float64() and table[field.name].isna().any():
            raise DataError(f"The column {field.name!r} of {name} has gaps.")
    return table


def validate_consistency(manifest: Mapping[str, Any], scores: pd.DataFrame, records: Sequence[Record]) -> None:
    """A DataError if the files are not those of one run: models or benchmarks that only one of them has."""
    benchmarks = set(scores["benchmark"])
    for record in records:
        if record.benchmark not in benchmarks:
            raise DataError(f"{MEASURES} and {SCORES} are of different runs: only one has {record}.")
    asked = {(entry["model"], entry["benchmark"]) for entry in manifest.get("asked", ())}
    scored = set(zip(scores["model"], scores["benchmark"], strict=True))
    if asked and (alone := sorted(scored - asked)):
        raise DataError(f"{MANIFEST} and {SCORES} are of different runs: only one has {alone[0][0]} on {alone[0][1]}.")


def _validate_columns(name: str, table: pd.DataFrame, columns: Sequence[str]) -> None:
    if missing := [column for column in columns if column not in table.columns]:
        raise DataError(f"{name} has no column {missing[0]!r}.")


def _validate_type(value: Any, kind: Any, what: str) -> Any:
    """The value, if it is of this type; JSON's true is no number."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        names = {str: "a text", int: "a whole number", float: "a number", dict: "an object", list: "a list"}
        wanted = " or ".join(dict.fromkeys(names[one] for one in kinds if one in names))
        raise DataError(f"{what} is not {wanted}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{what} is not finite.")
    return value
