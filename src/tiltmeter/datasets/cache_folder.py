"""The cache folder for downloads and answers of models."""

import os
from pathlib import Path

from tiltmeter.text_files import expand_home


def get_cache_folder() -> Path:
    """Return `TILTMETER_CACHE` or the cache folder of the platform; it may not exist yet."""
    setting = os.environ.get("TILTMETER_CACHE")
    if setting:
        return expand_home(setting)
    from platformdirs import user_cache_path  # cluster nodes may lack it

    return user_cache_path("tiltmeter", appauthor=False)
