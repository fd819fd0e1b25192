"""Databases with user data: rows that were changed by damage or by another program are detected on opening.

SQLite does not detect a changed byte inside a value, and user data cannot be rebuilt. Therefore SQL triggers store the
sum of the checksums of all rows for each table and item. If the rows of a file do not have the stored sums, the file is
rejected, and the error message names the items. A damaged index is rebuilt from the rows.
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
    owner BLOB NOT NULL,      -- the item or rating unit of the rows; empty if they have no such column
    total INTEGER NOT NULL,
    PRIMARY KEY (kind, owner)
) STRICT, WITHOUT ROWID
"""
# Columns that can name the item or rating unit of a row. For each table, the first name in this list that is a text
# column of the table is used.
_OWNERS = ("item", "unit", "id")
_REMEDY = "restore it from a backup, or see docs/reference/failures.md if there is none"
# Maximum number of damaged tables and items that an error message names.
_MAX_PLACES = 3


class RowChecksumDatabase(ChangeCountDatabase):
    """A database with checksums of its rows; opening it raises a StoreError if a row is damaged."""

    def _open_connection(self, path: str, *, uri: bool = False) -> Connection:
        db = super()._open_connection(path, uri=uri)
        db.create_function("checksum_of", -1, _compute_checksum, deterministic=True)
        # With recursive triggers, REPLACE also subtracts the checksums of the rows that it deletes.
        db.execute("PRAGMA recursive_triggers = ON")
        return db

    def _open_file(self) -> None:
        super()._open_file()
        if not self._has_checksums() or self._list_triggers() != self._build_all_triggers():
            with self.begin_transaction():
                self._add_checksums()

    def _check_rows(self) -> None:
        super()._check_rows()
        if not self._has_checksums():
            return
        self._db.execute("BEGIN")  # so that all queries see the same state of the file
        try:
            self._reject_damaged()
            problem = self._find_damage()
        finally:
            self._db.execute("COMMIT")
        if problem:
            self._rebuild_indexes(problem)

    def _has_checksums(self) -> bool:
        return bool(self._list_column_types(SUMS))

    def _reject_damaged(self) -> None:
        """Raise a StoreError if rows are damaged; the error message names their tables and items."""
        damaged = []
        stored: dict[tuple[bytes, bytes], int] = {
            (kind, owner): total
            for kind, owner, total in self._db.execute(f"SELECT CAST(kind AS BLOB), owner, total FROM {SUMS}")
        }
        for table in list_table_columns(self._schema):
            if types := self._list_column_types(table):
                columns = f"{_build_owner_sql(types)}, sum({_build_checksum_sql(types)})"
                query = f"SELECT {columns} FROM {table} NOT INDEXED GROUP BY 1"
                actual = {(table.encode(), owner): total for owner, total in self._db.execute(query)}
                expected = {key: total for key, total in stored.items() if key[0] == table.encode()}
                keys = [key for key in actual.keys() | expected.keys() if actual.get(key, 0) != expected.get(key, 0)]
                owners = sorted(owner.decode(errors="replace") for _, owner in keys)
                damaged += [f"`{table}` of {owner!r}" if owner else f"`{table}`" for owner in owners]
        if damaged:
            more = f" and {len(damaged) - _MAX_PLACES} more" if len(damaged) > _MAX_PLACES else ""
            raise self._build_damage_error(f"these rows are damaged: {', '.join(damaged[:_MAX_PLACES])}{more}")

    def _rebuild_indexes(self, problem: str) -> None:
        """Rebuild the indexes if the rows are intact; raise a StoreError if there is other damage."""
        if self.is_read_only:
            raise self._build_damage_error(f"the file is damaged: {problem}")
        with self.begin_transaction():
            self._db.execute("REINDEX")
            # Rebuilding a damaged index can destroy pages of tables. In this case, the error undoes the transaction.
            self._reject_damaged()
            if remaining := self._find_damage():
                raise self._build_damage_error(f"the file is damaged: {remaining}")
        logger.warning("The indexes of %s were damaged (%s) and are rebuilt; no row is lost.", self._file, problem)

    def _find_damage(self) -> str:
        (problem,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        return "" if problem == "ok" else str(problem)

    def _build_damage_error(self, reason: str) -> StoreError:
        return self._build_error_with_remedy(reason, _REMEDY)

    def _list_column_types(self, table: str) -> list[tuple[str, str]]:
        """Return (name, type) of each column of a table, without REAL columns.

        REAL columns have no checksum, because their digits as text depend on the version of SQLite.
        """
        rows = self._db.execute(f"PRAGMA table_info({table})")
        return [(str(row[1]), str(row[2])) for row in rows if row[2] != "REAL"]

    def _list_triggers(self) -> set[str]:
        query = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE ?"
        return {str(sql) for (sql,) in self._db.execute(query, [f"{SUMS}%"])}

    def _build_all_triggers(self) -> set[str]:
        return {
            sql
            for table in list_table_columns(self._schema)
            for sql in _build_triggers(table, self._list_column_types(table))
        }

    def _add_checksums(self) -> None:
        """Compute the sums of the checksums of the existing rows, and create the triggers that update these sums."""
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE ?"
        for (name,) in self._db.execute(triggers, [f"{SUMS}%"]).fetchall():
            self._db.execute(f'DROP TRIGGER "{name}"')
        self._db.execute(f"DROP TABLE IF EXISTS {SUMS}")
        self._db.execute(_SCHEMA)
        for table in list_table_columns(self._schema):
            types = self._list_column_types(table)
            columns = f"'{table}', {_build_owner_sql(types)}, sum({_build_checksum_sql(types)})"
            query = f"SELECT {columns} FROM {table} NOT INDEXED GROUP BY 2"
            self._db.execute(f"INSERT INTO {SUMS} {query}")
        for sql in self._build_all_triggers():
            self._db.execute(sql)


def _compute_checksum(*values: bytes | None) -> int:
    """Return the CRC-32 of the columns of a row; it must be fast, because it is computed for all rows on opening."""
    return zlib.crc32(b"\x1f".join([b"\x00" if value is None else value for value in values]))


def _build_owner_sql(types: list[tuple[str, str]], row: str = "") -> str:
    texts = [name for name, type_name in types if type_name == "TEXT"]
    owner = next((f"{row}{name}" for name in _OWNERS if name in texts), None)
    return f"CAST({owner} AS BLOB)" if owner else "x''"


def _build_checksum_sql(types: list[tuple[str, str]], row: str = "") -> str:
    # Values are converted to bytes, because a damaged text may not be valid UTF-8.
    return f"checksum_of({', '.join(f'CAST({row}{name} AS BLOB)' for name, _ in types)})"


def _build_triggers(table: str, types: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the SQL statements that create a table's triggers; the triggers update the table's sums of checksums."""

    def build_update_statement(sign: str, row: str) -> str:
        where = f"kind = '{table}' AND owner = {_build_owner_sql(types, row)}"
        return f"UPDATE {SUMS} SET total = total {sign} {_build_checksum_sql(types, row)} WHERE {where};"

    new = f"SELECT '{table}', {_build_owner_sql(types, 'NEW.')}, 0"
    # ON CONFLICT cannot be used here: in a trigger, the conflict clause of the statement that fires the trigger wins.
    known = f"SELECT 1 FROM {SUMS} WHERE kind = '{table}' AND owner = {_build_owner_sql(types, 'NEW.')}"
    insert = f"INSERT INTO {SUMS} {new} WHERE NOT EXISTS ({known});"
    for event, body in {
        "INSERT": [insert, build_update_statement("+", "NEW.")],
        "UPDATE": [build_update_statement("-", "OLD."), insert, build_update_statement("+", "NEW.")],
        "DELETE": [build_update_statement("-", "OLD.")],
    }.items():
        name = f"{SUMS}_{table}_{event.lower()}"
        yield f"CREATE TRIGGER {name} AFTER {event} ON {table} BEGIN {' '.join(body)} END"
