"""Values of TOML files that people edit: each is checked, and an error names the file and the key."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tiltmeter import text_files
from tiltmeter.errors import DataError


class TomlTable:
    """A table of a TOML file. `where` names it in errors; `check_keys` refuses keys that have no meaning."""

    def __init__(self, path: Path, values: Mapping[str, Any], where: str = "") -> None:
        self.path = path
        self.values = values
        self.where = where

    def reject_unknown_keys(self, known: Iterable[str]) -> None:
        """Refuse keys that are not known."""
        known = list(known)
        for key in self.values:
            if key not in known:
                close = get_close_matches(key, known, n=1)
                advice = f"did you mean `{close[0]}`?" if close else f"it may have {', '.join(known)}"
                raise DataError(f"{self.path}: `{key}`{self._describe_place()} has no meaning here; {advice}")

    def text(self, key: str, default: str | None = None) -> str:
        """A text."""
        return str(self._validate(key, default, str, "a text in quotes"))

    def integer(self, key: str, default: int | None = None, least: int | None = None) -> int:
        """A whole number, at least `least`."""
        value = self._validate(key, default, int, "a whole number")
        if isinstance(value, bool) or (least is not None and value < least):
            raise self.error(key, "a whole number" if least is None else f"a whole number from {least}")
        return int(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        return bool(self._validate(key, default, bool, "true or false"))

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of texts."""
        values = self._validate(key, list(default), list, "a list of texts")
        if not all(isinstance(value, str) for value in values):
            raise self.error(key, "a list of texts")
        return tuple(values)

    def texts_by_name(self, key: str) -> dict[str, str]:
        """A table of texts."""
        values = self._validate(key, {}, dict, f"a table: [{key}]")
        if not all(isinstance(value, str) for value in values.values()):
            raise self.error(key, "a table of texts")
        return dict(values)

    def table(self, key: str) -> "TomlTable":
        """A table inside this one; an empty one if it is not there."""
        return TomlTable(self.path, self._validate(key, {}, dict, f"a table: [{key}]"), f"[{key}]")

    def tables(self, key: str) -> list["TomlTable"]:
        """The tables of a list, `[[key]]`, each with its number."""
        values = self._validate(key, [], list, f"a list of tables: [[{key}]]")
        if not all(isinstance(value, dict) for value in values):
            raise self.error(key, f"a list of tables: [[{key}]]")
        return [TomlTable(self.path, value, f"[[{key}]] number {number}") for number, value in enumerate(values, 1)]

    def error(self, key: str, wanted: str) -> DataError:
        """The error for a value that is not what is wanted."""
        return DataError(
            f"{self.path}: `{key}`{self._describe_place()} should be {wanted}, and is {self.values.get(key)!r}."
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
    """The content of a TOML file."""
    return TomlTable(path, text_files.read_toml(path))
