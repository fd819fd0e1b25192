"""Files that are there whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, which takes its place if the block ends well and is gone if it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        # mkstemp makes files for the owner alone; results are for whoever the folder is for.
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")  # the same bytes on every system


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
