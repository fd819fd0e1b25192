"""Types of option values, which check values from plan files and convert values from the command line."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.text_files import expand_home, read_text


def _return_unchanged(given: Any) -> Any:
    return given


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A type of option value.

    `words` is a description of the type for messages. `is_valid` checks a value in a plan file. `type` is the parameter
    type on the command line, and `parse` converts a parameter from the command line to the value of the option.
    """

    words: str
    is_valid: Callable[[Any], bool]
    type: Any
    parse: Callable[[Any], Any] = _return_unchanged

    @property
    def input_mode(self) -> str:
        """The HTML attribute `inputmode`, which selects the on-screen keyboard: `numeric`, `decimal` or `text`."""
        return {int: "numeric", float: "decimal"}.get(self.type, "text")


def parse_margins(given: Sequence[str] | None) -> dict[str, float]:
    """Parse equivalence margins such as `SS=3`, and return the margin of each measure.

    >>> parse_margins(["SS=3"])
    {'SS': 3.0}
    """
    margins = {}
    for text in given or ():
        name, _, number = text.partition("=")
        try:
            margins[name.strip()] = float(number)
        except ValueError:
            raise UsageError(f"--margin {text} does not have the form MEASURE=NUMBER, for example SS=3.") from None
    return margins


def _parse_sizes(given: str | None) -> dict[str, str] | None:
    """Parse a list of memory sizes; return the size of each device. The sizes are checked when the model is opened.

    >>> _parse_sizes("0=10GiB,cpu=4GiB")
    {'0': '10GiB', 'cpu': '4GiB'}
    """
    if given is None:
        return None
    pairs = [text.partition("=") for text in given.split(",") if text]
    return {device.strip(): size.strip() for device, _, size in pairs}


def _read_text_file(given: str | None) -> str | None:
    """Return the text of a file without white space at its ends; raise an error if the file contains no text."""
    if given is None:
        return None
    text = read_text(expand_home(given)).strip()
    if not text:
        raise UsageError(f"{given} contains no text; write the text into the file, or omit the option.")
    return text


def _parse_devices(given: str | None) -> tuple[str, ...]:
    """Parse a comma-separated list of devices, and return their names; a number is the index of a GPU.

    >>> _parse_devices("0,1"), _parse_devices("cpu,cpu")
    (('cuda:0', 'cuda:1'), ('cpu', 'cpu'))
    """
    return tuple(f"cuda:{name}" if name.isdigit() else name for name in (given or "").split(",") if name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_table_of(value: Any, is_valid: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(is_valid(entry) for entry in value.values())


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


TEXT = ValueKind("a text", _is_text, str)
# On the command line, the name of a file; in plan files and in Python, the text itself.
TEXT_FILE = ValueKind("a text", lambda value: isinstance(value, str) and bool(value.strip()), str, _read_text_file)
COUNT = ValueKind("a whole number from 1", lambda value: _is_whole(value) and value >= 1, int)
COUNT_OR_ZERO = ValueKind("a whole number from 0", lambda value: _is_whole(value) and value >= 0, int)
NUMBER = ValueKind("a number", _is_number, float)
ABOVE_ZERO = ValueKind("a number above 0", lambda value: _is_number(value) and value > 0, float)
FLAG = ValueKind("true or false", lambda value: isinstance(value, bool), bool)
SIZES = ValueKind(
    'a table of sizes, for example { "0" = "10GiB", cpu = "4GiB" }',
    lambda value: _is_table_of(value, lambda size: isinstance(size, str)),
    str,
    _parse_sizes,
)
NAMES = ValueKind("a list of names", _is_list_of_texts, list[str], lambda given: tuple(given or ()))
DEVICES = ValueKind("a list of devices", _is_list_of_texts, str, _parse_devices)
MARGINS = ValueKind("a table of numbers", lambda value: _is_table_of(value, _is_number), list[str], parse_margins)
