"""Hashes of data files, with a cache so that a run hashes each file only once."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from tiltmeter.errors import DataError


class FileHashes(NamedTuple):
    """The SHA-256 and the git blob id of a file."""

    sha256: str
    git_blob: str


# The hashes that were computed inside `cache_hashes`; None outside.
_known: ContextVar[dict[Path, FileHashes] | None] = ContextVar("_known", default=None)


@contextmanager
def cache_hashes() -> Iterator[None]:
    """Cache file hashes inside the `with` block or the decorated function."""
    if _known.get() is not None:
        yield
        return
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def get_hashes(path: Path) -> FileHashes:
    """Return the hashes of a file; inside `cache_hashes`, each file is hashed only once.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as empty:
    ...     get_hashes(Path(empty.name)).git_blob
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    known = _known.get()
    if known is None:
        return compute_hashes(path)
    if path not in known:
        known[path] = compute_hashes(path)
    return known[path]


def compute_hashes(path: Path) -> FileHashes:
    """Compute the hashes of a file without the cache."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path} cannot be read: it is not a regular file.")
    sha256 = hashlib.sha256()
    # git hashes a header that contains the length, followed by the content.
    git_blob = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            sha256.update(block)
            git_blob.update(block)
    return FileHashes(sha256.hexdigest(), git_blob.hexdigest())


def get_sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return get_hashes(path).sha256
