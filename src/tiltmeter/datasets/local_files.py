"""Paths of upstream files on this machine: in the cache or in a mirror."""

import os
from pathlib import Path

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.licence_consent import is_notice_accepted
from tiltmeter.datasets.upstream_files import UpstreamFile
from tiltmeter.errors import UsageError
from tiltmeter.text_files import expand_home


def get_cached_path(file: UpstreamFile) -> Path:
    """Return the path of a file in the cache; the file may not exist."""
    return get_cache_folder() / "upstream" / file.folder / file.commit / file.path


def is_local(file: UpstreamFile) -> bool:
    """Return whether a file is available without a download and may be used (see `licence_consent`)."""
    mirror = get_mirror()
    in_cache = get_cached_path(file).is_file() and (mirror is not None or is_notice_accepted(file))
    return in_cache or (isinstance(mirror, Path) and (mirror / file.name).is_file())


def get_mirror() -> Path | str | None:
    """Return the mirror from `TILTMETER_MIRROR`: a folder, an http(s) address, or None if the variable is not set."""
    setting = os.environ.get("TILTMETER_MIRROR")
    if not setting:
        return None
    if setting.startswith(("http://", "https://")):
        return setting
    folder = expand_home(setting)
    if not folder.is_dir():
        raise UsageError(f"TILTMETER_MIRROR is {setting!r}, which is neither a folder nor an http(s) address.")
    return folder
