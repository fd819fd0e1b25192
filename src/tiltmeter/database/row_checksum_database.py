"""SQLite files with people's work: a row that changed by anything but a statement of ours is found when it is opened.

SQLite does not notice a changed byte inside a value, and such a row cannot be had again, as one of a cache can. So
triggers keep the sum of the checksums of the rows, by table and by the item that they are about; a file whose rows do
not have these sums is refused, with the names of the items. Damaged indexes are made anew: the rows have all of them.
"""

import logging
import zlib
from collections.abc import Iterator

from tiltmeter.database.change_count_database import ChangeCountDatabase
from tiltmeter.database.connection import Connection, StoreError
from tiltmeter.database.table_columns import list_table_columns

logger = logging.getLogger(__name__)

SUMS = "row_sums"
_SCHEMA = f"""
CREATE TABLE {SUMS} (
    kind TEXT NOT NULL,       -- the name of a table
    owner BLOB NOT NULL,      -- the item or unit that rows are about; empty where they are about none
    total INTEGER NOT NULL,
    PRIMARY KEY (kind, owner)
) STRICT, WITHOUT ROWID
"""
# Columns that say what a row is about, the first that a table has as a text.
_OWNERS = ("item", "unit", "id")
_REMEDY = "restore it from a copy; docs/reference/failures.md says how to go on without one"
# So many of the damaged places are named.
_NAMED = 3


class RowChecksumDatabase(ChangeCountDatabase):
    """A database whose rows are checked when it is opened; a StoreError if they are not as they were written."""

    def _connected(self, path: str, *, uri: bool = False) -> Connection:
        db = super()._connected(path, uri=uri)
        db.create_function("checksum_of", -1, _compute_checksum, deterministic=True)
        db.execute("PRAGMA recursive_triggers = ON")  # else a row that REPLACE deletes stays in the sum
        return db

    def _open(self) -> None:
        super()._open()
        if not self._has_checksums() or self._list_triggers() != self._list_wanted_triggers():
            with self.begin_transaction():
                self._add_checksums()

    def _check_rows(self) -> None:
        super()._check_rows()
        if not self._has_checksums():
            return
        self._db.execute("BEGIN")  # one view of the file
        try:
            self._reject_damaged()
            problem = self._find_problem()
        finally:
            self._db.execute("COMMIT")
        if problem:
            self._rebuild_indexes(problem)

    def _has_checksums(self) -> bool:
        return bool(self._list_column_types(SUMS))

    def _reject_damaged(self) -> None:
        """A StoreError with the tables and items whose rows are not as they were written."""
        found = []
        kept: dict[tuple[bytes, bytes], int] = {
            (kind, owner): total
            for kind, owner, total in self._db.execute(f"SELECT CAST(kind AS BLOB), owner, total FROM {SUMS}")
        }
        for table in list_table_columns(self._schema):
            if facts := self._list_column_types(table):
                columns = f"{_build_owner_sql(facts)}, sum({_build_checksum_sql(facts)})"
                query = f"SELECT {columns} FROM {table} NOT INDEXED GROUP BY 1"
                there = {(table.encode(), owner): total for owner, total in self._db.execute(query)}
                known = {key: total for key, total in kept.items() if key[0] == table.encode()}
                wrong = [key for key in there.keys() | known.keys() if there.get(key, 0) != known.get(key, 0)]
                owners = sorted(owner.decode(errors="replace") for _, owner in wrong)
                found += [f"`{table}` of {owner!r}" if owner else f"`{table}`" for owner in owners]
        if found:
            more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
            raise self._build_damage_error(f"it is damaged: not as written are {', '.join(found[:_NAMED])}{more}")

    def _rebuild_indexes(self, problem: str) -> None:
        """Make indexes anew that do not fit the rows, which are sound; a StoreError for other damage."""
        if self.is_read_only:
            raise self._build_damage_error(f"it is damaged: {problem}")
        with self.begin_transaction():
            self._db.execute("REINDEX")
            # A damaged index may lead to pages of tables, which are then lost: all is as it was before in this case.
            self._reject_damaged()
            if left := self._find_problem():
                raise self._build_damage_error(f"it is damaged: {left}")
        logger.warning("The indexes of %s were damaged (%s) and are made anew; no row is lost.", self._file, problem)

    def _find_problem(self) -> str:
        (found,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        return "" if found == "ok" else str(found)

    def _build_damage_error(self, reason: str) -> StoreError:
        return self._build_error_with_remedy(reason, _REMEDY)

    def _list_column_types(self, table: str) -> list[tuple[str, str]]:
        """The columns of a table, with their types; not fractions, whose digits depend on the version of SQLite."""
        rows = self._db.execute(f"PRAGMA table_info({table})")
        return [(str(row[1]), str(row[2])) for row in rows if row[2] != "REAL"]

    def _list_triggers(self) -> set[str]:
        query = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE ?"
        return {str(sql) for (sql,) in self._db.execute(query, [f"{SUMS}%"])}

    def _list_wanted_triggers(self) -> set[str]:
        return {
            sql
            for table in list_table_columns(self._schema)
            for sql in _build_triggers(table, self._list_column_types(table))
        }

    def _drop_checksums(self) -> None:
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE ?"
        for (name,) in self._db.execute(query, [f"{SUMS}%"]).fetchall():
            self._db.execute(f'DROP TRIGGER "{name}"')
        self._db.execute(f"DROP TABLE IF EXISTS {SUMS}")

    def _add_checksums(self) -> None:
        """Sum the rows that there are, and keep the sums from now on."""
        self._drop_checksums()
        self._db.execute(_SCHEMA)
        for table in list_table_columns(self._schema):
            facts = self._list_column_types(table)
            columns = f"'{table}', {_build_owner_sql(facts)}, sum({_build_checksum_sql(facts)})"
            query = f"SELECT {columns} FROM {table} NOT INDEXED GROUP BY 2"
            self._db.execute(f"INSERT INTO {SUMS} {query}")
        for sql in self._list_wanted_triggers():
            self._db.execute(sql)


def _compute_checksum(*values: bytes | None) -> int:
    """The CRC-32 of the columns of a row: a project has a hundred thousand rows, all summed when it is opened."""
    return zlib.crc32(b"\x1f".join([b"\x00" if value is None else value for value in values]))


def _build_owner_sql(facts: list[tuple[str, str]], row: str = "") -> str:
    texts = [name for name, kind in facts if kind == "TEXT"]
    named = next((f"{row}{name}" for name in _OWNERS if name in texts), None)
    return f"CAST({named} AS BLOB)" if named else "x''"


def _build_checksum_sql(facts: list[tuple[str, str]], row: str = "") -> str:
    # As bytes: after damage, a text may not be valid UTF-8.
    return f"checksum_of({', '.join(f'CAST({row}{name} AS BLOB)' for name, _ in facts)})"


def _build_triggers(table: str, facts: list[tuple[str, str]]) -> Iterator[str]:
    """Statements that make the triggers of a table."""

    def change(sign: str, row: str) -> str:
        where = f"kind = '{table}' AND owner = {_build_owner_sql(facts, row)}"
        return f"UPDATE {SUMS} SET total = total {sign} {_build_checksum_sql(facts, row)} WHERE {where};"

    new = f"SELECT '{table}', {_build_owner_sql(facts, 'NEW.')}, 0"
    # No ON CONFLICT: that of the statement that fires the trigger would take its place.
    known = f"SELECT 1 FROM {SUMS} WHERE kind = '{table}' AND owner = {_build_owner_sql(facts, 'NEW.')}"
    begun = f"INSERT INTO {SUMS} {new} WHERE NOT EXISTS ({known});"
    for event, body in {
        "INSERT": [begun, change("+", "NEW.")],
        "UPDATE": [change("-", "OLD."), begun, change("+", "NEW.")],
        "DELETE": [change("-", "OLD.")],
    }.items():
        name = f"{SUMS}_{table}_{event.lower()}"
        yield f"CREATE TRIGGER {name} AFTER {event} ON {table} BEGIN {' '.join(body)} END"
