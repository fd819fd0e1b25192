"""The number of changes to a SQLite file, kept in a file beside it, so that the loss of a change is noticed.

SQLite ignores a damaged write-ahead log from the first damaged place on, without an error, and a log from another time
replaces newer pages of the database by older ones. So each transaction adds 1 to `user_version`, which is in the header
of the database, and confirmed changes are counted outside the log, in `NAME-count`. Numbers only grow: the count is
written after the change is on disk, so a process that is killed in between leaves a count that is too small, which is
harmless. The file is not synced, for the same reason.
"""

import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.files import share_like_folder

_HEADER = b"SQLite format 3\0"
# The smallest page of SQLite, in bytes; and where its header has `user_version`.
_SMALLEST_FILE = 512
_VERSION = slice(60, 64)
# Two numbers of 12 digits and a checksum of 8, with a space after each of the first two, and a line end.
_LENGTH = 35


@dataclass(frozen=True, slots=True)
class ChangeCount:
    """Confirmed changes: all of them, and those known to be in the database file itself, not only in its log."""

    confirmed: int
    in_file: int


def get_count_path(path: Path) -> Path:
    """The file with the change count of a database."""
    return path.with_name(f"{path.name}-count")


def get_log_path(path: Path) -> Path:
    """The write-ahead log of a database."""
    return path.with_name(f"{path.name}-wal")


def is_database(path: Path) -> bool:
    """Whether a file begins like a SQLite database and is not cut off within its first page."""
    with path.open("rb") as file:
        return len(head := file.read(_SMALLEST_FILE)) == _SMALLEST_FILE and head.startswith(_HEADER)


def count_file_changes(path: Path) -> int:
    """The number of changes in a database file, without those that are only in its log."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(64)[_VERSION])


def read_count(path: Path) -> ChangeCount:
    """The confirmed changes of a database; none if the count is missing or unreadable."""
    try:
        found = _parse(get_count_path(path).read_bytes())
    except OSError:
        found = None
    return found or ChangeCount(0, 0)


def confirm_changes(path: Path, count: ChangeCount) -> None:
    """Raise the count to these numbers; a number that is greater already stays."""
    before = read_count(path)
    write_count(path, ChangeCount(max(before.confirmed, count.confirmed), max(before.in_file, count.in_file)))


def write_count(path: Path, count: ChangeCount) -> None:
    """Replace the count by a single write of always the same length: a killed process leaves the old or the new one."""
    target = get_count_path(path)
    is_new = not target.exists()
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        os.write(handle, _format(count))
    finally:
        os.close(handle)
    if is_new:
        share_like_folder(target)


def _format(count: ChangeCount) -> bytes:
    numbers = f"{count.confirmed:012d} {count.in_file:012d}".encode()
    return b"%s %08x\n" % (numbers, zlib.crc32(numbers))


def _parse(content: bytes) -> ChangeCount | None:
    """The count in the content of a file; None if the content is damaged.

    >>> _parse(_format(ChangeCount(155, 118)))
    ChangeCount(confirmed=155, in_file=118)
    >>> _parse(_format(ChangeCount(155, 118)).replace(b"155", b"156"))
    """
    numbers = content[: _LENGTH - 10]
    try:
        confirmed, in_file = map(int, numbers.split())
    except ValueError:
        return None
    found = ChangeCount(confirmed, in_file)
    return found if content[:_LENGTH] == _format(found) else None
