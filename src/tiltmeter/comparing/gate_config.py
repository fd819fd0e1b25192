"""Rules from a file: the [[check]] tables of tiltmeter.toml."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.comparing.gate_rules import Rule, RuleKind, parse_rule
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.text_files import read_toml

NAME = "tiltmeter.toml"
_KINDS: tuple[RuleKind, ...] = ("max", "min", "no-worse-than")
_KEYS = (*_KINDS, "baseline", "lenient")


@dataclass(frozen=True, slots=True)
class GateConfig:
    """The rules in a file.

    `baseline` is the path of the run with which the checked run is compared. With `lenient`, a rule fails only if the
    whole interval violates it. `baseline` and `lenient` are None if the file does not set them.
    """

    rules: list[Rule]
    baseline: Path | None
    lenient: bool | None


def read_gate_config(path: Path) -> GateConfig:
    """Read the rules in the [[check]] tables of a file; other tables are ignored."""
    content = read_toml(path)
    tables = content.get("check")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f'{path} has no [[check]] table; add one with [[check]] and max = "stereoset.SS distance 5".')
    rules = [rule for number, table in enumerate(tables, 1) for rule in _parse_rules(f"{path}, check {number}", table)]
    baseline = _get_shared_value(path, tables, "baseline", str)
    lenient = _get_shared_value(path, tables, "lenient", bool)
    return GateConfig(rules, path.parent / baseline if baseline else None, lenient)


def _parse_rules(source: str, table: dict[str, Any]) -> Iterator[Rule]:
    for key in table:
        if key not in _KEYS:
            raise UsageError(
                f"{source}: the key {key!r} is not known{suggest_name(key, _KEYS)}; the keys are {', '.join(_KEYS)}."
            )
    for kind in _KINDS:
        given = table.get(kind, [])
        for text in given if isinstance(given, list) else [given]:
            if isinstance(text, bool) or not isinstance(text, str | int | float):
                raise UsageError(f"{source}: {kind} must be a rule in quotation marks, not {text!r}.")
            try:
                yield parse_rule(kind, str(text))
            except UsageError as error:
                raise UsageError(f"{source}: {error}") from None


def _get_shared_value(path: Path, tables: list[dict[str, Any]], key: str, type_: type) -> Any:
    """Return the value of a key that applies to the whole file; None if no table has the key.

    Raise an error if the tables have different values, or if a value is not of this type.
    """
    values = [table[key] for table in tables if key in table]
    for value in values:
        if not isinstance(value, type_):
            raise UsageError(f"{path}: {key} is {value!r}; it must be {'a text' if type_ is str else 'true or false'}.")
        if value != values[0]:
            raise UsageError(
                f"{path}: {key} has two values, {values[0]!r} and {value!r}, but it applies to all rules; delete one."
            )
    return values[0] if values else None
