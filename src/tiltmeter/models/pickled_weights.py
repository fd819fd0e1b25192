"""Refuse files of pickled weights that would fill the memory, before they are loaded.

torch reads such a file as an archive of stored (not compressed) tensors and one pickle that says how they fit together.
Nothing in it is run; but an archive may be compressed a thousandfold, and a pickle of lists takes many times its size.
"""

import zipfile
from pathlib import Path

from tiltmeter.errors import ModelError

# The largest pickle of an archive, in bytes: one of 10,000 tensors has some megabytes.
_LARGEST_PICKLE = 1 << 25


def reject_oversized_pickles(file: Path) -> None:
    """A ModelError for a file that asks for more memory than its size; others, and old formats, are left to torch."""
    if file.suffix not in (".bin", ".pt", ".pth") or not zipfile.is_zipfile(file):
        return
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise ModelError(f"{file} is not a sound file of weights ({error}); fetch it again.") from error
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ModelError(f"{file} holds compressed weights, which torch does not write; it is refused.")
    if any(entry.filename.endswith(".pkl") and entry.file_size > _LARGEST_PICKLE for entry in entries):
        raise ModelError(f"{file} holds a pickle that would fill the memory; it is refused.")
