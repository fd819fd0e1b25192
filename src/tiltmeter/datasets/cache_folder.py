"""The cache folder for downloads and stored answers."""

import os
from pathlib import Path

from tiltmeter.text_files import expand_home


def get_cache_folder() -> Path:
    """`TILTMETER_CACHE` if set, else the platform's cache folder; it may not exist yet."""
    setting = os.environ.get("TILTMETER_CACHE")
    if setting:
        return expand_home(setting)
    from platformdirs import user_cache_path  # imported here, since cluster nodes with only torch may lack it

    return user_cache_path("tiltmeter", appauthor=False)
