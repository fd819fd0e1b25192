"""Where downloads and stored answers live."""

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_dir() -> Path:
    """The cache folder: `TILTMETER_CACHE` if set, else the platform's own place. It may not exist yet."""
    setting = os.environ.get("TILTMETER_CACHE")
    return Path(setting).expanduser() if setting else user_cache_path("tiltmeter", appauthor=False)
