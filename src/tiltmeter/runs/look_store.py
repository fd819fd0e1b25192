"""The store of looks (tests of a model on growing samples of the same items) on disk."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tiltmeter.database.cache_database import CacheDatabase
from tiltmeter.measures.looks import Look
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.portions import UNDIVIDED, Portion
from tiltmeter.runs.preparation import PreparedRun

FILE = "looks.sqlite"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS looks (
    portion TEXT NOT NULL,
    items INTEGER NOT NULL,
    number INTEGER NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (portion, items)
) STRICT, WITHOUT ROWID;
"""
_CHECKSUM = "checksum_of(CAST(portion AS BLOB), items, number)"
_SELECT = f"SELECT items FROM looks WHERE portion = ? AND checksum = {_CHECKSUM} ORDER BY number"
_INSERT = "INSERT OR REPLACE INTO looks VALUES (?1, ?2, ?3, checksum_of(CAST(?1 AS BLOB), ?2, ?3))"


class LookStore(CacheDatabase):
    """The sizes of the tested samples of each portion, in the order of the tests; one SQLite file for all runs."""

    def __init__(self, path: Path | str) -> None:
        remedy = "move it away, or set TILTMETER_CACHE to another folder"
        super().__init__(str(path), _SCHEMA, synchronous="NORMAL", contents="looks", remedy=remedy)

    def add(self, portion: str, items: int) -> tuple[int, ...]:
        """Record a test with `items` items, and return the numbers of items of earlier tests on the same portion.

        A repeated test with the same number of items is not recorded again. A read-only file is not changed.
        """
        if self.is_read_only:
            found = self._list_items(portion)
        else:
            with self.begin_transaction():
                found = self._list_items(portion)
                if items not in found:
                    self._db.execute(_INSERT, [portion, items, len(found) + 1])
        return tuple(found[: found.index(items)] if items in found else found)

    def _list_items(self, portion: str) -> list[int]:
        return [int(items) for (items,) in self._db.execute(_SELECT, [portion])]


def record_looks(folder: Path, prepared: PreparedRun, runs: Iterable[ModelOutput]) -> list[Look]:
    """Record the looks of a run (its tests on samples of items) in the store of the cache folder, and return them."""
    with LookStore(folder / FILE) as store:
        return store.retry_if_damaged(lambda: list(_record_looks(store, prepared, runs)))


def _record_looks(store: LookStore, prepared: PreparedRun, runs: Iterable[ModelOutput]) -> Iterator[Look]:
    protocol = "+".join([prepared.settings.protocol, *prepared.suffixes])
    for run in runs:
        measured = {
            (entry.benchmark, entry.language, part) for entry in run.conditions for part in (entry.part, UNDIVIDED)
        }
        for chosen, available in zip(prepared.chosen, prepared.available, strict=True):
            if (chosen.name, chosen.language, chosen.part) in measured:
                yield Look(
                    str(run.model["name"]),
                    **chosen.label(),
                    protocol=protocol,
                    items=len(chosen.items),
                    earlier=store.add(_build_key(run, chosen, protocol), len(chosen.items)),
                    is_complete=len(chosen.items) == len(available.items),
                )


def _build_key(run: ModelOutput, portion: Portion, protocol: str) -> str:
    """Return a text that identifies model, items and protocol.

    It contains fingerprints and hashes, so it stays the same if a model or a data file is renamed.
    """
    identity = run.model.get("answers") or run.model["name"]
    return json.dumps([identity, *portion.label().values(), protocol, sorted(portion.files.values())], sort_keys=True)
