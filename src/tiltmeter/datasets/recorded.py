"""Hashes of the files of which none is known: recorded beside them in the cache at the first download.

From then on they are checked like the others, so that nothing changes unnoticed; `tiltmeter data pin` prints them.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tiltmeter.datasets.hashing import read_digests
from tiltmeter.datasets.local_files import cached_path, mirror_setting
from tiltmeter.datasets.upstream import Pin, UpstreamFile, repositories
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import share_like_folder, write_text
from tiltmeter.reading import read_text


def expected_pin(file: UpstreamFile) -> Pin:
    """The hash that a file must have: the known one, or the recorded one; with neither, the pin of the commit."""
    return file.pin if file.pin.is_hash else recorded_pin(file) or file.pin


def record_path(file: UpstreamFile) -> Path:
    """Where the hash of a file is recorded, in the format of `sha256sum`."""
    cached = cached_path(file)
    return cached.with_name(f"{cached.name}.sha256")


def recorded_pin(file: UpstreamFile) -> Pin | None:
    """The recorded hash of a file; None if there is none."""
    path = record_path(file)
    if not path.is_file():
        return None
    digest = read_text(path).partition(" ")[0]
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise DataError(f"{path} does not begin with a SHA-256; delete it, so that the hash is recorded again.")
    return Pin("sha256", digest)


def record(file: UpstreamFile, path: Path) -> None:
    """Record the hash of a file of which none is known, unless the cache can only be read."""
    if not file.pin.is_hash and recorded_pin(file) is None:
        with suppress(UsageError):
            write_text(record_path(file), f"{read_digests(path).sha256}  {path.name}\n")
            share_like_folder(record_path(file))


def files_to_pin() -> Iterator[tuple[UpstreamFile, Path | None]]:
    """The files of which no hash is known, and where they are on this machine."""
    mirror = mirror_setting()
    for repository in repositories().values():
        for file in repository.files.values():
            if not file.pin.is_hash:
                places = [mirror / file.name] if isinstance(mirror, Path) else []
                yield file, next((path for path in (*places, cached_path(file)) if path.is_file()), None)
