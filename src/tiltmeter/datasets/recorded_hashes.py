"""Recorded hashes of files whose hash is not part of Tiltmeter.

The first download of a file records its hash in the cache; later uses verify the file with this hash. The command
`tiltmeter data pin` prints the recorded hashes.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tiltmeter.datasets.file_hashes import compute_hashes
from tiltmeter.datasets.local_files import get_cached_path, get_mirror
from tiltmeter.datasets.upstream_files import Pin, UpstreamFile, load_repositories
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import copy_folder_permissions, write_text
from tiltmeter.text_files import read_text


def get_expected_pin(file: UpstreamFile) -> Pin:
    """Return the hash of a file from Tiltmeter, otherwise the recorded hash, otherwise a pin without a hash."""
    return file.pin if file.pin.is_hash else read_recorded_pin(file) or file.pin


def get_record_path(file: UpstreamFile) -> Path:
    """Return the path of the file with the recorded hash, which has the format of `sha256sum`."""
    cached = get_cached_path(file)
    return cached.with_name(f"{cached.name}.sha256")


def read_recorded_pin(file: UpstreamFile) -> Pin | None:
    """Return the hash that was recorded at the first download of a file; None if no hash is recorded."""
    path = get_record_path(file)
    if not path.is_file():
        return None
    digest = read_text(path).partition(" ")[0]
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise DataError(f"{path} does not begin with a SHA-256; delete it to record the hash again.")
    return Pin("sha256", digest)


def record_hash(file: UpstreamFile, path: Path) -> None:
    """Record the hash of a file if Tiltmeter contains no hash of it; do nothing if the cache cannot be written."""
    if not file.pin.is_hash and read_recorded_pin(file) is None:
        with suppress(UsageError):
            write_text(get_record_path(file), f"{compute_hashes(path).sha256}  {path.name}\n")
            copy_folder_permissions(get_record_path(file))


def list_unpinned_files() -> Iterator[tuple[UpstreamFile, Path | None]]:
    """Yield the files whose hash is not part of Tiltmeter, each with its local path; None if there is no local file."""
    mirror = get_mirror()
    for repository in load_repositories().values():
        for file in repository.files.values():
            if not file.pin.is_hash:
                mirrored = [mirror / file.name] if isinstance(mirror, Path) else []
                yield file, next((path for path in (*mirrored, get_cached_path(file)) if path.is_file()), None)
