"""The store of looks (tests of a model on growing samples of the same items) on disk."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tiltmeter.database.cache_database import CacheDatabase
from tiltmeter.measures.looks import Look
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.portions import UNDIVIDED
from tiltmeter.runs.run_preparation import PreparedRun

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
    """A SQLite file for all runs, with the sizes of the tested samples of each portion in the order of the tests."""

    def __init__(self, path: Path | str) -> None:
        remedy = "move it away, or set TILTMETER_CACHE to another folder"
        super().__init__(str(path), _SCHEMA, synchronous="NORMAL", contents="looks", remedy=remedy)

    def add_look(self, portion: str, items: int) -> tuple[int, ...]:
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


def record_looks(folder: Path, drafts: Iterable[tuple[str, Look]]) -> list[Look]:
    """Record the looks of a run (its tests on samples of items) in the cache folder; return them with `earlier` set.

    `drafts` are looks whose `earlier` is empty, each with the text that identifies its portion (see `build_key`).
    """
    listed = list(drafts)
    with LookStore(folder / FILE) as store:
        return store.retry_if_damaged(
            lambda: [replace(look, earlier=store.add_look(portion, look.items)) for portion, look in listed]
        )


def list_looks(prepared: PreparedRun, runs: Iterable[ModelOutput]) -> Iterator[tuple[str, Look]]:
    """Yield the looks of a run of language models for `record_looks`."""
    protocol = "+".join([prepared.settings.protocol, *prepared.suffixes])
    for run in runs:
        identity = str(run.model.get("answers") or run.model["name"])
        measured = {
            (entry.benchmark, entry.language, part) for entry in run.conditions for part in (entry.part, UNDIVIDED)
        }
        for chosen, available in zip(prepared.chosen, prepared.available, strict=True):
            if (chosen.name, chosen.language, chosen.part) in measured:
                look = Look(
                    str(run.model["name"]),
                    **chosen.get_key_columns(),
                    protocol=protocol,
                    items=len(chosen.items),
                    earlier=(),
                    is_complete=len(chosen.items) == len(available.items),
                )
                yield build_key(identity, look, chosen.files), look


def build_key(identity: str, look: Look, files: Mapping[str, str]) -> str:
    """Return a text that identifies model, items and protocol.

    It contains fingerprints and hashes, so it stays the same if a model or a data file is renamed.
    """
    place = (look.benchmark, look.part, look.language, look.protocol)
    return json.dumps([identity, *place, sorted(files.values())], sort_keys=True)
