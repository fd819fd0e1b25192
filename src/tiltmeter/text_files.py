"""Read files that people edit: regular files only, of a bounded size, with errors that name the file."""

import json
import tomllib
from pathlib import Path
from typing import Any

from tiltmeter.errors import DataError, UsageError

# The largest file that is read into memory, in bytes; the published data sets are far smaller.
LARGEST = 1 << 30
# The largest file of settings or of a run, which takes ten times its size in memory.
_LARGEST_TREE = 1 << 28


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """The content of a regular file; never waits for a pipe, or reads a device without end."""
    try:
        if path.exists() and not path.is_file():
            what = "a folder" if path.is_dir() else "no regular file"
            raise DataError(f"{path} cannot be read: it is {what}.")
        if (size := path.stat().st_size) > largest:
            raise DataError(f"{path} cannot be read: it has {size:,} bytes, and {largest:,} are the most.")
        return path.read_bytes()
    except OSError as error:
        gone = isinstance(error, FileNotFoundError) and path.is_symlink()
        reason = "it is a link to a file that is not there" if gone else error.strerror or str(error)
        raise DataError(f"{path} cannot be read: {reason}.") from error
    except ValueError as error:  # a null character in the name
        raise DataError(f"{str(path)!r} cannot be read: {error}.") from error


def read_text(path: Path) -> str:
    """The content of a UTF-8 file without a byte-order mark."""
    try:
        return read_bytes(path, _LARGEST_TREE).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8.") from error


def split_lines(text: str) -> list[str]:
    """The lines of a text, without their ends: `\\n` or `\\r\\n`.

    `str.splitlines` also splits at characters that occur inside a text, such as U+2028, so that later lines would be
    counted wrongly.

    >>> split_lines("a\\u2028b\\r\\nc\\n")
    ['a\\u2028b', 'c']
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, name: str) -> Any:
    """The content of a JSON text; `name` says where it is from."""
    try:
        return json.loads(text)
    except RecursionError:
        raise DataError(f"{name} is not read: its lists or objects are nested too deep.") from None
    except ValueError as error:
        raise DataError(f"{name} is not valid JSON: {error}.") from error


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        return tomllib.loads(read_text(path))
    except RecursionError:
        raise DataError(f"{path} is not read: its lists or tables are nested too deep.") from None
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise DataError(f"{path} is not valid TOML: {error}.") from error


def expand_home(text: str | Path) -> Path:
    """The path with `~` or `~user` replaced by that home folder."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UsageError(f"{text} begins with the home folder of a user who is not known here.") from None
