"""Rejection of pickled weight files that would fill the memory, before they are loaded.

torch reads such a file as a zip archive of uncompressed tensors and a pickle that describes their structure. torch does
not execute code in the pickle. However, loading a compressed archive can need a thousand times its size in memory, and
loading a pickle of nested lists can need many times its size.
"""

import zipfile
from pathlib import Path

from tiltmeter.errors import ModelError

# Maximum size of the pickle in bytes. The pickle of 10,000 tensors has a few megabytes.
_MAX_PICKLE_BYTES = 1 << 25


def reject_oversized_pickles(file: Path) -> None:
    """Raise a ModelError if loading a file would need far more memory than its size; only zip archives are checked."""
    if file.suffix not in (".bin", ".pt", ".pth") or not zipfile.is_zipfile(file):
        return
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise ModelError(f"{file} is not a valid weight file ({error}); download it again.") from error
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ModelError(f"{file} contains compressed weights, which torch never writes; get the model elsewhere.")
    if any(entry.filename.endswith(".pkl") and entry.file_size > _MAX_PICKLE_BYTES for entry in entries):
        raise ModelError(f"{file} contains a pickle that would fill the memory; get the model elsewhere.")
