"""Read TOML files that users edit, and check their values; error messages name the file and the key."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tiltmeter import text_files
from tiltmeter.errors import DataError


class TomlTable:
    """A table of a TOML file; `where` is the name of the table in error messages."""

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

    def read_text(self, key: str, default: str | None = None) -> str:
        """Return the value of a key; raise a DataError if it is missing without a default, or not a string."""
        return str(self._validate_value(key, default, str, "a text in quotes"))

    def read_integer(self, key: str, default: int | None = None, least: int | None = None) -> int:
        """Return the value of a key, which must be an integer; `least` is the minimum."""
        value = self._validate_value(key, default, int, "a whole number")
        if isinstance(value, bool) or (least is not None and value < least):
            raise self.build_error(key, "a whole number" if least is None else f"a whole number, at least {least}")
        return int(value)

    def read_bool(self, key: str, default: bool) -> bool:
        """Return the value of a key, which must be true or false."""
        return bool(self._validate_value(key, default, bool, "true or false"))

    def read_share(self, key: str, default: float) -> float:
        """Return the value of a key, which must be a number from 0 to 1."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self.build_error(key, "a number from 0 to 1")
        return float(value)

    def read_texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the value of a key, which must be a list of strings, as a tuple."""
        values = self._validate_value(key, list(default), list, "a list of texts")
        if not all(isinstance(value, str) for value in values):
            raise self.build_error(key, "a list of texts")
        return tuple(values)

    def read_texts_by_name(self, key: str) -> dict[str, str]:
        """Return the value of a key, which must be a table whose values are strings, as a dictionary."""
        values = self._validate_value(key, {}, dict, f"a table: [{key}]")
        if not all(isinstance(value, str) for value in values.values()):
            raise self.build_error(key, "a table of texts")
        return dict(values)

    def read_table(self, key: str) -> "TomlTable":
        """Return the table `[key]` inside this table; an empty table if the key is missing."""
        return TomlTable(self.path, self._validate_value(key, {}, dict, f"a table: [{key}]"), f"[{key}]")

    def read_tables(self, key: str) -> list["TomlTable"]:
        """Return the tables of the list `[[key]]`; an empty list if the key is missing."""
        values = self._validate_value(key, [], list, f"a list of tables: [[{key}]]")
        if not all(isinstance(value, dict) for value in values):
            raise self.build_error(key, f"a list of tables: [[{key}]]")
        return [TomlTable(self.path, value, f"[[{key}]] number {number}") for number, value in enumerate(values, 1)]

    def build_error(self, key: str, wanted: str) -> DataError:
        """Return the error for an invalid value of a key; `wanted` describes the valid values."""
        return DataError(
            f"{self.path}: `{key}`{self._describe_place()} should be {wanted}, but is {self.values.get(key)!r}."
        )

    def _validate_value(self, key: str, default: Any, kind: type, wanted: str) -> Any:
        value = self.values.get(key, default)
        if value is None:
            raise DataError(f"{self.path}: `{key}`{self._describe_place()} is missing.")
        if not isinstance(value, kind):
            raise self.build_error(key, wanted)
        return value

    def _describe_place(self) -> str:
        return f" in {self.where}" if self.where else ""


def read_toml(path: Path) -> TomlTable:
    """Read a TOML file, and return its top-level table."""
    return TomlTable(path, text_files.read_toml(path))
