"""Read the contents of files; an unreadable file raises a BrokenFileError, which becomes a validation finding."""

import codecs
import json
from pathlib import Path
from typing import Any

from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.text_files import read_bytes


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, without a byte order mark."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 (byte {error.start} is 0x{error.object[error.start]:02x}); save it as UTF-8"
        raise BrokenFileError("bad-encoding", message) from error


def find_file_in_same_folder(path: Path, name: str, code: str) -> Path:
    """Return the path of the file `name` in the folder of `path`; if it is missing, raise an error with this `code`."""
    companion = path.with_name(name)
    if not companion.is_file():
        raise BrokenFileError(code, f"needs the file {name} in the same folder")
    return companion


def read_json_file(path: Path) -> Any:
    """Return the JSON value of a file."""
    try:
        return json.loads(read_text(path))
    except RecursionError as error:
        raise BrokenFileError("bad-json", "has too many nested lists or objects") from error
    except ValueError as error:
        raise BrokenFileError("bad-json", f"is not valid JSON: {error}") from error


def read_mac_roman_text(path: Path) -> str:
    """Return the text of a file in which some characters are encoded in Mac Roman and the other characters in UTF-8.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write("Zoë at ".encode("mac_roman") + "één".encode()), file.flush()
    ...     read_mac_roman_text(Path(file.name))
    'Zoë at één'
    """
    return read_bytes(path).decode("utf-8-sig", errors=_MAC)


def _decode_mac_roman(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("mac_roman"), error.end


_MAC = "tiltmeter-mac-roman"
codecs.register_error(_MAC, _decode_mac_roman)
