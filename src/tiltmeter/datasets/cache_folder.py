"""The cache folder for downloaded files and for answers of models."""

import os
from pathlib import Path

from tiltmeter.text_files import expand_home


def get_cache_folder() -> Path:
    """Return the cache folder, which may not exist yet: the folder in `TILTMETER_CACHE`, or the platform's default."""
    setting = os.environ.get("TILTMETER_CACHE")
    if setting:
        return expand_home(setting)
    from platformdirs import user_cache_path  # imported here because cluster nodes may lack this package

    return user_cache_path("tiltmeter", appauthor=False)
