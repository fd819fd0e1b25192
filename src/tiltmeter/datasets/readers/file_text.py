"""File contents, with errors that name the file."""

from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.errors import DataError


def read_bytes(path: Path) -> bytes:
    """The content of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error


def read_text(path: Path) -> str:
    """The content of a UTF-8 file without a byte-order mark."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 (byte {error.start} is 0x{error.object[error.start]:02x}); save it as UTF-8"
        raise BrokenFileError("bad-encoding", message) from error
