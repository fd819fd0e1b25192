"""The columns of the tables that a schema makes, and whether a file has them."""

import sqlite3
from contextlib import closing

# Name, type, and place in the primary key.
Column = tuple[str, str, int]


def list_table_columns(schema: str) -> dict[str, list[str]]:
    """The tables that a schema makes, with the names of their columns."""
    return {table: [name for name, _, _ in columns] for table, columns in _read_schema(schema).items()}


def has_columns(db: sqlite3.Connection, schema: str) -> bool:
    """Whether a database has the tables of a schema, with the same columns, types and keys.

    A changed byte in a stored schema can make another name or type of a column, which SQLite takes as it is.
    """
    return all(set(columns) == set(_list_columns(db, table)) for table, columns in _read_schema(schema).items())


def _read_schema(schema: str) -> dict[str, list[Column]]:
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(schema)
        names = [str(name) for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: _list_columns(made, name) for name in names}


def _list_columns(db: sqlite3.Connection, table: str) -> list[Column]:
    facts = db.execute(f"PRAGMA table_info({table})").fetchall()
    return [(str(name), str(kind), int(key)) for _, name, kind, _, _, key in facts]
