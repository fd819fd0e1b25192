"""Read text, JSON and TOML files. Only regular files of limited size are read; error messages name the file."""

import json
import tomllib
from pathlib import Path
from typing import Any

from tiltmeter.errors import DataError, UsageError

# The maximum size of a file in bytes; published data sets are much smaller.
LARGEST = 1 << 30
# The maximum size in bytes of a file that is read as text or parsed. It is smaller than LARGEST, because parsing needs
# about ten times the size of the file as memory.
_LARGEST_PARSED = 1 << 28


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """Return the content of a regular file of at most `largest` bytes; raise a DataError for pipes and devices."""
    try:
        if path.exists() and not path.is_file():
            type_name = "a folder" if path.is_dir() else "not a regular file"
            raise DataError(f"{path} cannot be read: it is {type_name}.")
        if (size := path.stat().st_size) > largest:
            raise DataError(f"{path} cannot be read: it has {size:,} bytes; the maximum is {largest:,}.")
        return path.read_bytes()
    except OSError as error:
        is_broken_link = isinstance(error, FileNotFoundError) and path.is_symlink()
        reason = "it is a link to a file that does not exist" if is_broken_link else error.strerror or str(error)
        raise DataError(f"{path} cannot be read: {reason}.") from error
    except ValueError as error:  # the name of the file contains a null character
        raise DataError(f"{str(path)!r} cannot be read: {error}.") from error


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file without its byte-order mark, if it has one."""
    try:
        return read_bytes(path, _LARGEST_PARSED).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8.") from error


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without their line ends, which are `\\n` or `\\r\\n`.

    `str.splitlines` would also split at characters such as U+2028, and the numbers of later lines would be wrong.

    >>> split_lines("a\\u2028b\\r\\nc\\n")
    ['a\\u2028b', 'c']
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


def read_json(path: Path) -> Any:
    """Return the JSON value in a file."""
    return parse_json(read_text(path), str(path))


def read_json_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; raise a DataError if the file contains another JSON value."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError(f"{path} contains no JSON object; restore the file.")
    return value


def parse_json(text: str, name: str) -> Any:
    """Return the value of a JSON text; `name` says in error messages where the text comes from, such as a file name."""
    try:
        return json.loads(text)
    except RecursionError:
        raise DataError(f"{name} is not valid: its lists or objects are nested too deep.") from None
    except ValueError as error:
        raise DataError(f"{name} is not valid JSON: {error}.") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file as a dictionary."""
    try:
        return tomllib.loads(read_text(path))
    except RecursionError:
        raise DataError(f"{path} is not valid: its lists or tables are nested too deep.") from None
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise DataError(f"{path} is not valid TOML: {error}.") from error


def expand_home(text: str | Path) -> Path:
    """Return the path with `~` or `~user` replaced by the home folder."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UsageError(f"{text} begins with the home folder of an unknown user; write the full path.") from None
