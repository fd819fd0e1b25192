"""File contents, with errors that name the file."""

import codecs
import json
from pathlib import Path
from typing import Any

from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.text_files import read_bytes


def read_text(path: Path) -> str:
    """The content of a UTF-8 file without a byte-order mark."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 (byte {error.start} is 0x{error.object[error.start]:02x}); save it as UTF-8"
        raise BrokenFileError("bad-encoding", message) from error


def read_document(path: Path) -> Any:
    """The content of a file with one JSON value."""
    try:
        return json.loads(read_text(path))
    except RecursionError as error:
        raise BrokenFileError("bad-json", "holds lists or objects too deep to be read") from error
    except ValueError as error:
        raise BrokenFileError("bad-json", f"is not valid JSON: {error}") from error


def read_mac_text(path: Path) -> str:
    """The content of a file in Mac Roman, in which single characters may be UTF-8, as after edits on two systems.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write("Zoë at ".encode("mac_roman") + "één".encode()), file.flush()
    ...     read_mac_text(Path(file.name))
    'Zoë at één'
    """
    return read_bytes(path).decode("utf-8-sig", errors=_MAC)


def _decode_mac_roman(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("mac_roman"), error.end


_MAC = "tiltmeter-mac-roman"
codecs.register_error(_MAC, _decode_mac_roman)
