"""The script that draws the figures of a report: Vega, Vega-Lite and Vega-Embed in one text.

Bundling takes seconds, so the bundle is kept in the cache folder. Readers of a report execute it, so a kept bundle is
used only if nobody but the user could have written it.
"""

import hashlib
import os
import stat
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import UsageError
from tiltmeter.files import create_shared_folder, write_atomically

_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def load_vega_bundle() -> str:
    """Return the bundle, from the cache if possible."""
    identity = f"{_SNIPPET}\n{version('vl-convert-python')}"
    path = get_cache_folder() / "vega" / f"{_compute_digest(identity)[:16]}.js"
    kept = _read_kept_bundle(path)
    if kept is not None:
        return kept
    bundle = _bundle_vega()
    with suppress(UsageError):  # a report does not need a cache
        create_shared_folder(path.parent)
        with write_atomically(path, is_private=True) as part:
            part.write_bytes(f"{_compute_digest(bundle)}\n{bundle}".encode())
    return bundle


def _bundle_vega() -> str:
    script: str = vl_convert.javascript_bundle(_SNIPPET)
    # Browsers replace CRLF by LF before they compute the hash. Also, `</script` in a string would end the element.
    return script.replace("\r\n", "\n").replace("</script", "<\\/script")


def _read_kept_bundle(path: Path) -> str | None:
    """Return the bundle in a file; None if the file is missing, damaged, or could be written by another user."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            state = os.fstat(handle)
            if not stat.S_ISREG(state.st_mode) or state.st_mode & 0o022:
                return None
            get_user = getattr(os, "geteuid", None)  # Windows has no such function
            if get_user is not None and state.st_uid != get_user():
                return None
            digest, _, bundle = file.read().decode().partition("\n")
    except (OSError, ValueError):
        return None
    return bundle if digest == _compute_digest(bundle) else None


def _compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
