"""Where downloads and stored answers live."""

import os
from pathlib import Path


def cache_dir() -> Path:
    """The cache folder: `TILTMETER_CACHE` if set, else the platform's own place. It may not exist yet."""
    setting = os.environ.get("TILTMETER_CACHE")
    if setting:
        return Path(setting).expanduser()
    from platformdirs import user_cache_path  # imported late, for cluster nodes that have torch and little else

    return user_cache_path("tiltmeter", appauthor=False)
