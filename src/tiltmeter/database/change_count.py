"""The number of changes to a SQLite file, stored in a second file, so that lost changes are detected.

Changes can be lost in two ways: SQLite silently ignores the part of a write-ahead log after the first damaged place,
and SQLite overwrites newer pages of the database if an older log is next to the file. Therefore each transaction adds 1
to `user_version` in the header of the database. When a change is on disk, the number of these confirmed changes is
written to the file `NAME-count`. If the process is killed before this, the number in `NAME-count` is too small, which
is harmless. For the same reason, `NAME-count` is not synced to disk.
"""

import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.files import copy_folder_permissions

_HEADER = b"SQLite format 3\0"
# The minimum size of a SQLite page in bytes, and the bytes of `user_version` in the header of a database.
_MIN_PAGE_SIZE = 512
_VERSION = slice(60, 64)
# Length of the count file in bytes: two numbers of 12 digits, a checksum of 8 digits, two spaces and a line end.
_LENGTH = 35


@dataclass(frozen=True, slots=True)
class ChangeCount:
    """The content of a count file.

    `confirmed` is the number of changes that are on disk, in the database file or in its write-ahead log. `in_file` is
    the number of changes that are in the database file.
    """

    confirmed: int
    in_file: int


def get_count_path(path: Path) -> Path:
    """Return the path of the count file, which contains the number of changes to the database at `path`."""
    return path.with_name(f"{path.name}-count")


def get_log_path(path: Path) -> Path:
    """Return the path of the write-ahead log of the database at `path`."""
    return path.with_name(f"{path.name}-wal")


def is_database(path: Path) -> bool:
    """Return whether a file begins with the header of a SQLite database and has at least the size of one page."""
    with path.open("rb") as file:
        return len(head := file.read(_MIN_PAGE_SIZE)) == _MIN_PAGE_SIZE and head.startswith(_HEADER)


def count_file_changes(path: Path) -> int:
    """Return the number of changes in the database file itself; changes that are only in its log are not counted."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(64)[_VERSION])


def read_count(path: Path) -> ChangeCount:
    """Return the change count of a database; both numbers are 0 if the count file is missing or damaged.

    Raise a UsageError if the count file is a pipe or a device, because reading a pipe would wait forever.
    """
    target = get_count_path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise UsageError(f"{target} is not a regular file; delete it.")
    try:
        count = _parse_count(target.read_bytes())
    except OSError:
        count = None
    return count or ChangeCount(0, 0)


def confirm_changes(path: Path, count: ChangeCount) -> None:
    """Write both numbers of `count` to the count file; a stored number that is higher is kept."""
    old = read_count(path)
    write_count(path, ChangeCount(max(old.confirmed, count.confirmed), max(old.in_file, count.in_file)))


def write_count(path: Path, count: ChangeCount) -> None:
    """Write the count file in one operation of fixed length, so that a killed process leaves no partial content."""
    target = get_count_path(path)
    is_new = not target.exists()
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        os.write(handle, _format_count(count))
    finally:
        os.close(handle)
    if is_new:
        copy_folder_permissions(target)


def _format_count(count: ChangeCount) -> bytes:
    numbers = f"{count.confirmed:012d} {count.in_file:012d}".encode()
    return b"%s %08x\n" % (numbers, zlib.crc32(numbers))


def _parse_count(content: bytes) -> ChangeCount | None:
    """Return the change count from the content of a count file; None if the content is damaged.

    >>> _parse_count(_format_count(ChangeCount(155, 118)))
    ChangeCount(confirmed=155, in_file=118)
    >>> _parse_count(_format_count(ChangeCount(155, 118)).replace(b"155", b"156"))
    """
    numbers = content[: _LENGTH - 10]
    try:
        confirmed, in_file = map(int, numbers.split())
    except ValueError:
        return None
    count = ChangeCount(confirmed, in_file)
    return count if content[:_LENGTH] == _format_count(count) else None
