"""Keep what can be read of a damaged SQLite file."""

import sqlite3
from collections import deque
from contextlib import closing, suppress
from pathlib import Path

from filelock import FileLock

from tiltmeter.database.table_columns import has_columns, list_table_columns
from tiltmeter.errors import UsageError
from tiltmeter.files import build_write_error, get_lock_mode, share_like_folder

# Errors of a damaged file: SQLite's, and those in reading its messages, which quote a damaged schema.
_BROKEN = (sqlite3.Error, UnicodeDecodeError)
# What belongs to a SQLite file, beside itself.
_BESIDE = ("-wal", "-shm", "-journal")
# A copy of what can be read: being made, and complete.
_COPYING, _COPIED = ".rescuing", ".rescued"
# How often the keys around damage are halved; a page holds some hundred of the answers to a million questions.
_SPLITS = 14
# How many ranges of keys may turn out to be damaged: some seconds' work, however many models have lost their answers.
_MOST_DAMAGED = 40_000
# The longest file that is made whole, in bytes: a damaged header can claim any length.
_LONGEST = 1 << 38


def rescue(path: Path, schema: str, contents: str, reason: str) -> str:
    """Copy the readable rows of a damaged file to a new one, which replaces it; a sentence on what was kept.

    The damaged file is renamed to `NAME.damaged-N`. Two processes that find the same damage do this one after the
    other; the second finds a sound file. A process that is killed meanwhile leaves the
    damaged file or the copy.
    """
    try:
        with FileLock(f"{path}.rescue.lock", mode=get_lock_mode(path)):
            if _is_sound(path, schema):
                return f"The store of {contents} {path} was damaged ({reason}); another process has mended it."
            kept = _copy_rows(path, _add_suffix(path, _COPYING), schema)
            _add_suffix(path, _COPYING).replace(_add_suffix(path, _COPIED))
            aside = _replace(path)
    except OSError as error:
        raise build_write_error(path, error) from error
    except _BROKEN as error:
        raise UsageError(f"The store of {contents} {path} is damaged and cannot be replaced ({error}).") from error
    return (
        f"The store of {contents} {path} was damaged ({reason}): {kept:,} {contents} of it could be read and are kept, "
        f"the others are asked for again, and the damaged file is now {aside.name}."
    )


def finish_rescue(path: Path) -> None:
    """Put the complete copy of a damaged file in its place, if a process was killed before it did so."""
    if not _add_suffix(path, _COPIED).exists():
        return
    try:
        with FileLock(f"{path}.rescue.lock", mode=get_lock_mode(path)):
            if _add_suffix(path, _COPIED).exists():
                _replace(path)
    except OSError as error:
        raise build_write_error(path, error) from error


def _is_sound(path: Path, schema: str) -> bool:
    try:
        with closing(sqlite3.connect(path)) as db:
            for table, names in list_table_columns(schema).items():
                db.execute(f"SELECT {', '.join(names)} FROM {table} LIMIT 1").fetchall()
            return has_columns(db, schema) and all(row == ("ok",) for row in db.execute("PRAGMA quick_check"))
    except _BROKEN:
        return False


def _add_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _replace(path: Path) -> Path:
    """Rename a damaged file and what belongs to it, then the copy to its name; returns the new path of the damaged one.

    All of it may have been done in part before.
    """
    number = 1
    while _add_suffix(path, f".damaged-{number}").exists():
        number += 1
    if path.exists():
        path.rename(_add_suffix(path, f".damaged-{number}"))
    else:
        number = max(1, number - 1)
    aside = _add_suffix(path, f".damaged-{number}")
    for suffix in _BESIDE:  # what belongs to the damaged file would be taken for the copy's
        with suppress(FileNotFoundError):
            _add_suffix(path, suffix).rename(_add_suffix(aside, suffix))
    _add_suffix(path, _COPIED).rename(path)
    return aside


def _copy_rows(damaged: Path, path: Path, schema: str) -> int:
    """Copy the rows that can be read to a new file; returns the number of rows of the last table of the schema."""
    _restore_length(damaged)
    path.unlink(missing_ok=True)
    kept = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as new, closing(sqlite3.connect(damaged)) as old:
        share_like_folder(path)
        new.execute("PRAGMA journal_mode = MEMORY")  # nobody reads the copy before it is complete
        new.executescript(schema)
        old.text_factory = bytes
        for (table,) in new.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            new.execute("BEGIN")
            _Table(old, new, str(table)).copy()
            new.execute("COMMIT")
            ((kept,),) = new.execute(f"SELECT count(*) FROM {table}")
    return int(kept)


def _restore_length(damaged: Path) -> None:
    """Add zeros for the pages that a file lacks at its end: SQLite reads nothing of a file that is too short."""
    with damaged.open("r+b") as file:
        header = file.read(32)
        if header.startswith(b"SQLite format 3\0"):
            page = int.from_bytes(header[16:18]) or 65536
            length = (65536 if page == 1 else page) * int.from_bytes(header[28:32])
            if damaged.stat().st_size < length <= _LONGEST:
                file.truncate(length)


class _Table:
    """A table of the damaged file, copied to the new one."""

    def __init__(self, old: sqlite3.Connection, new: sqlite3.Connection, name: str) -> None:
        self.old, self.new, self.name = old, new, name
        # A file of an earlier version may lack columns.
        query, there = f"PRAGMA table_info({name})", set[str]()
        with suppress(*_BROKEN):
            there = {bytes(fact[1]).decode(errors="replace") for fact in old.execute(query)}
        facts = [fact for fact in new.execute(query).fetchall() if str(fact[1]) in there or not there]
        self.columns = [str(fact[1]) for fact in facts]
        self.texts = {index for index, fact in enumerate(facts) if fact[2] == "TEXT"}
        self.keys = [(str(fact[1]), str(fact[2])) for fact in sorted(facts, key=lambda fact: int(fact[5])) if fact[5]]

    def copy(self) -> None:
        """Copy from the first row up to the damage, from the last row down to it, and what lies between."""
        whole = self._read("ASC") or self._read("DESC")
        if not whole and len(self.keys) == 2 and self.keys[1][1] == "BLOB":
            self._read_around_damage()

    def _read(self, direction: str) -> bool:
        order = ", ".join(f"{key} {direction}" for key, _ in self.keys) or f"rowid {direction}"
        return self._insert(f"SELECT {', '.join(self.columns)} FROM {self.name} ORDER BY {order}", [])

    def _list_first_keys(self) -> list[object]:
        """The values of the first column of the key, from what was copied or from the table that it refers to."""
        first = self.keys[0][0]
        for _, _, table, here, there, *_ in self.new.execute(f"PRAGMA foreign_key_list({self.name})").fetchall():
            if here == first:
                return [value for (value,) in self.new.execute(f"SELECT {there} FROM {table}")]
        return [value for (value,) in self.new.execute(f"SELECT DISTINCT {first} FROM {self.name}").fetchall()]

    def _read_around_damage(self) -> None:
        """Copy ranges of the second key; those with damage are halved, the largest of all first keys before others."""
        ranges = deque((first, 0, 1 << 64, _SPLITS) for first in self._list_first_keys())
        damaged = 0
        while ranges and damaged < _MOST_DAMAGED:
            first, low, high, splits = ranges.popleft()
            if not self._read_between(first, low, high):
                damaged += 1
                if splits:
                    middle = (low + high) // 2
                    ranges.extend([(first, low, middle, splits - 1), (first, middle, high, splits - 1)])

    def _read_between(self, first: object, low: int, high: int) -> bool:
        """Copy the rows whose second key begins with 8 bytes in a range, up to the damage; whether there was none."""
        (one, _), (two, _) = self.keys
        bounds = [low.to_bytes(8), high.to_bytes(8) if high < 1 << 64 else b"\xff" * 17]
        query = f"SELECT {', '.join(self.columns)} FROM {self.name} WHERE {one} = ? AND {two} >= ? AND {two} < ?"
        return self._insert(query, [first, *bounds])

    def _insert(self, query: str, values: list[object]) -> bool:
        """Insert what a query finds, up to the damage; whether there was none."""
        insert = f"INSERT OR IGNORE INTO {self.name} VALUES ({', '.join('?' * len(self.columns))})"
        try:
            for row in self.old.execute(query, values):
                with suppress(sqlite3.Error, UnicodeDecodeError):  # a value of another type, or half a character
                    self.new.execute(insert, [self._decode_value(index, value) for index, value in enumerate(row)])
        except _BROKEN:
            return False
        return True

    def _decode_value(self, index: int, value: object) -> object:
        return value.decode() if index in self.texts and isinstance(value, bytes) else value
