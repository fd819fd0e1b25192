"""Checked values of TOML files that users edit; errors name the file and the key."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tiltmeter import text_files
from tiltmeter.errors import DataError


class TomlTable:
    """A table of a TOML file; `where` names the table in errors."""

    def __init__(self, path: Path, values: Mapping[str, Any], where: str = "") -> None:
        self.path = path
        self.values = values
        self.where = where

    def reject_unknown_keys(self, known: Iterable[str]) -> None:
        """Raise a DataError if the table has a key that is not in `known`."""
        known = list(known)
        for key in self.values:
            if key not in known:
                close = get_close_matches(key, known, n=1)
                advice = f"did you mean `{close[0]}`?" if close else f"the keys are {', '.join(known)}."
                raise DataError(f"{self.path}: unknown key `{key}`{self._describe_place()}; {advice}")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        return str(self._validate(key, default, str, "a text in quotes"))

    def integer(self, key: str, default: int | None = None, least: int | None = None) -> int:
        """Return an integer that is at least `least`."""
        value = self._validate(key, default, int, "a whole number")
        if isinstance(value, bool) or (least is not None and value < least):
            raise self.error(key, "a whole number" if least is None else f"a whole number, at least {least}")
        return int(value)

    def flag(self, key: str, default: bool) -> bool:
        """Return a Boolean."""
        return bool(self._validate(key, default, bool, "true or false"))

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of strings as a tuple."""
        values = self._validate(key, list(default), list, "a list of texts")
        if not all(isinstance(value, str) for value in values):
            raise self.error(key, "a list of texts")
        return tuple(values)

    def texts_by_name(self, key: str) -> dict[str, str]:
        """Return a table whose values are strings."""
        values = self._validate(key, {}, dict, f"a table: [{key}]")
        if not all(isinstance(value, str) for value in values.values()):
            raise self.error(key, "a table of texts")
        return dict(values)

    def table(self, key: str) -> "TomlTable":
        """Return a table inside this one; an empty table if it is missing."""
        return TomlTable(self.path, self._validate(key, {}, dict, f"a table: [{key}]"), f"[{key}]")

    def tables(self, key: str) -> list["TomlTable"]:
        """Return the tables of a list `[[key]]`."""
        values = self._validate(key, [], list, f"a list of tables: [[{key}]]")
        if not all(isinstance(value, dict) for value in values):
            raise self.error(key, f"a list of tables: [[{key}]]")
        return [TomlTable(self.path, value, f"[[{key}]] number {number}") for number, value in enumerate(values, 1)]

    def error(self, key: str, wanted: str) -> DataError:
        """Return the error for an invalid value; `wanted` describes the valid values."""
        return DataError(
            f"{self.path}: `{key}`{self._describe_place()} should be {wanted}, but is {self.values.get(key)!r}."
        )

    def _validate(self, key: str, default: Any, kind: type, wanted: str) -> Any:
        value = self.values.get(key, default)
        if value is None:
            raise DataError(f"{self.path}: `{key}`{self._describe_place()} is missing.")
        if not isinstance(value, kind):
            raise self.error(key, wanted)
        return value

    def _describe_place(self) -> str:
        return f" in {self.where}" if self.where else ""


def read_toml(path: Path) -> TomlTable:
    """Read a TOML file."""
    return TomlTable(path, text_files.read_toml(path))
