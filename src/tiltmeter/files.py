"""Atomic file writes."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tiltmeter.errors import UsageError


@contextmanager
def atomic_write(path: Path, *, is_private: bool = False) -> Iterator[Path]:
    """Yield a temporary path in the same folder; rename it to `path` on success, delete it on an exception.

    A private file can be read by its owner only.
    """
    make_folder(path.parent)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise _not_writable(path, error) from error
    os.close(handle)
    part = Path(name)
    try:
        yield part
        # mkstemp creates files with mode 0600; give the file the permissions that open() would have.
        if not is_private:
            part.chmod(0o666 & ~_umask())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically, with the same line ends on every system."""
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def make_folder(path: Path) -> None:
    """Make a folder and those above it; a UsageError if that cannot be done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_writable(path, error) from error


def _not_writable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written: {error.strerror}; choose another place.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
