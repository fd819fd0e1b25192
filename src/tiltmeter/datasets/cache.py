"""The cache folder for downloads and stored answers."""

import os
from pathlib import Path

from tiltmeter.reading import home_path


def cache_dir() -> Path:
    """`TILTMETER_CACHE` if set, else the platform's cache folder; it may not exist yet."""
    setting = os.environ.get("TILTMETER_CACHE")
    if setting:
        return home_path(setting)
    from platformdirs import user_cache_path  # imported here, since cluster nodes with only torch may lack it

    return user_cache_path("tiltmeter", appauthor=False)
