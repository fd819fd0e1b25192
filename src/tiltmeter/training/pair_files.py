"""The two files of sentence pairs that a training reads: those to train on, and those held out."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.errors import UsageError

TRAIN = "train.parquet"
HELD_OUT = "held-out.parquet"
SUMMARY = "summary.json"
COLUMNS = ("language", "article", "first", "second", "label")


@dataclass(frozen=True)
class PairFiles:
    """A folder of sentence pairs."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> "PairFiles":
        """The pairs of a folder that `tiltmeter train pairs` wrote."""
        for name in (TRAIN, HELD_OUT, SUMMARY):
            if not (folder / name).is_file():
                raise UsageError(f"{folder} holds no {name}; make sentence pairs with `tiltmeter train pairs` first.")
        found = cls(folder)
        for path in found.files:
            try:
                columns = pq.read_schema(path).names
            except (pa.ArrowInvalid, OSError) as error:
                raise UsageError(f"{path} cannot be read ({error}); make the pairs again.") from error
            if missing := [column for column in COLUMNS if column not in columns]:
                raise UsageError(f"{path} lacks the column {missing[0]}; make the pairs again.")
        return found

    @property
    def files(self) -> list[Path]:
        """The files with pairs."""
        return [self.folder / TRAIN, self.folder / HELD_OUT]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The counts, sources and warnings of the pairs."""
        found: dict[str, Any] = json.loads((self.folder / SUMMARY).read_text(encoding="utf-8"))
        return found

    def batches(self, name: str, size: int) -> Iterator[pa.RecordBatch]:
        """The pairs of a file, so many at a time."""
        with pq.ParquetFile(self.folder / name) as file:
            yield from file.iter_batches(batch_size=size, columns=list(COLUMNS))

    def size(self, name: str) -> int:
        """The number of pairs of a file."""
        return int(pq.read_metadata(self.folder / name).num_rows)

    @cached_property
    def languages(self) -> list[str]:
        """The languages of the held-out pairs, in alphabetical order."""
        column = pq.read_table(self.folder / HELD_OUT, columns=["language"])["language"]
        return sorted(column.unique().to_pylist())
