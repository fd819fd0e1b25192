"""The tables and columns of a schema, and a check whether a database has them."""

import sqlite3
from contextlib import closing

# Name, type, and position in the primary key.
Column = tuple[str, str, int]


def list_table_columns(schema: str) -> dict[str, list[str]]:
    """Return the tables of a schema with the names of their columns."""
    return {table: [name for name, _, _ in columns] for table, columns in _read_schema(schema).items()}


def has_columns(db: sqlite3.Connection, schema: str) -> bool:
    """Return whether a database has the tables of a schema, with the same columns, types and keys.

    SQLite does not detect a changed byte in the stored schema if the result is another valid name or type.
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
