"""Conversion between JSON values and frozen dataclasses, with errors that name the location of a wrong value.

The type of a field is str, a number, bool, a mapping, a dataclass, a tuple of one of these, or a union with None. If a
value is missing or null, the field gets its default. Unknown keys are ignored unless a field collects them.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from tiltmeter.errors import DataError

_T = TypeVar("_T")
_USE = "json"
# Metadata of fields. OPTIONAL: the field is not written if its value is None.
OPTIONAL = {_USE: "optional"}
# ALL_KEYS: the field contains the whole JSON object. Only this field is written; the other fields are typed copies.
ALL_KEYS = {_USE: "all"}
# OTHER_KEYS: the field contains all keys that are not names of other fields. These keys are written, too.
OTHER_KEYS = {_USE: "other"}
# NOT_IN_JSON: the field is neither read nor written.
NOT_IN_JSON = {_USE: "none"}

_NAMES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    hint: Any
    is_needed: bool
    use: str


@cache
def _list_fields(cls: type) -> tuple[_Field, ...]:
    hints = get_type_hints(cls)
    return tuple(
        _Field(
            found.name,
            hints[found.name],
            found.default is MISSING and found.default_factory is MISSING,
            found.metadata.get(_USE, ""),
        )
        for found in fields(cls)
    )


def from_json(cls: type[_T], value: Any, where: str) -> _T:
    """Create a dataclass object from a JSON object; if this is invalid, raise a DataError with the place `where`."""
    values: Mapping[str, Any] = check_type(value, (dict,), where)
    arguments: dict[str, Any] = {}
    dataclass_type: Any = cls
    for known in _list_fields(dataclass_type):
        if known.use in ("", "optional"):
            if known.name not in values:
                if known.is_needed:
                    raise DataError(f"{where} has no {known.name!r}.")
            elif values[known.name] is not None or known.is_needed:
                arguments[known.name] = _convert(known.hint, values[known.name], f"{known.name!r} of {where}")
        elif known.use == "all":
            arguments[known.name] = dict(values)
        elif known.use == "other":
            names = {one.name for one in _list_fields(dataclass_type)}
            arguments[known.name] = {name: entry for name, entry in values.items() if name not in names}
    return cls(**arguments)


def _convert(hint: Any, value: Any, where: str) -> Any:
    if hint is Any:
        return value
    origin, parameters = get_origin(hint), get_args(hint)
    if origin is UnionType:
        if value is None and NoneType in parameters:
            return None
        types = [one for one in parameters if one is not NoneType]
        return _convert(types[0], value, where) if len(types) == 1 else check_type(value, tuple(types), where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise DataError(f"{where} is not a list.")
        return tuple(
            _convert(parameters[0], entry, f"entry {number} of {where}") for number, entry in enumerate(value, 1)
        )
    if origin is Mapping:
        check_type(value, (dict,), where)
        return {name: _convert(parameters[1], entry, f"{name!r} of {where}") for name, entry in value.items()}
    if is_dataclass(hint):
        return from_json(cast(type[Any], hint), value, where)
    return check_type(value, (hint,), where)


def check_type(value: Any, types: tuple[type, ...], where: str) -> Any:
    """Return the value if it has one of the types; otherwise raise a DataError that names the place `where`.

    A number must be finite. A bool does not count as a number.
    """
    allowed = (*types, int) if float in types else types
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in types):
        raise DataError(f"{where} is not {' or '.join(_NAMES[one] for one in types)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{where} is not finite.")
    return value


def to_json(value: Any) -> Any:
    """Return the JSON value of a dataclass object, or of a list or mapping of them."""
    if isinstance(value, Mapping):
        return {str(name): to_json(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(entry) for entry in value]
    if not is_dataclass(value):
        return value
    written: dict[str, Any] = {}
    dataclass_type: Any = type(value)
    for known in _list_fields(dataclass_type):
        entry = getattr(value, known.name)
        if known.use == "all":
            return to_json(entry)
        if known.use == "other":
            written |= to_json(entry)
        elif known.use == "" or (known.use == "optional" and entry is not None):
            written[known.name] = to_json(entry)
    return written
