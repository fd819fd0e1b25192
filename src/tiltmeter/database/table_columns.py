"""The tables and columns of a schema, and a check whether a database has these tables and columns."""

import sqlite3
from contextlib import closing

# The name of a column, its type, and its position in the primary key (0 if it is not part of the key).
Column = tuple[str, str, int]


def list_table_columns(schema: str) -> dict[str, list[str]]:
    """Return a dictionary from each table of a schema (SQL statements) to the names of its columns."""
    return {table: [name for name, _, _ in columns] for table, columns in _read_schema(schema).items()}


def has_columns(db: sqlite3.Connection, schema: str) -> bool:
    """Return whether a database has the tables of a schema, with equal columns, types and primary keys.

    This check is needed because SQLite does not detect a changed byte in the stored schema if it is still valid SQL.
    """
    return all(set(columns) == set(_list_columns(db, table)) for table, columns in _read_schema(schema).items())


def _read_schema(schema: str) -> dict[str, list[Column]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(schema)
        names = [str(name) for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: _list_columns(db, name) for name in names}


def _list_columns(db: sqlite3.Connection, table: str) -> list[Column]:
    rows = db.execute(f"PRAGMA table_info({table})").fetchall()
    return [(str(name), str(type_name), int(key)) for _, name, type_name, _, _, key in rows]
