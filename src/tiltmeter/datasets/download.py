"""One file over HTTP: goes on after a break, tries again after a failure that may pass."""

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from ssl import SSLError

from tiltmeter.errors import DownloadError

Progress = Callable[[int, int | None], None]
"""Told, as bytes arrive, how many there are so far and how many there will be (None: the server does not say)."""

TIMEOUT = 30.0
PAUSES = (0.5, 1.0, 2.0)
"""Seconds to wait before each new try. The count starts anew whenever a try got further than any before it."""

_BLOCK = 1 << 16
_RANGE_NOT_SATISFIABLE = 416


class UnreachableError(DownloadError):
    """The server could not be reached, or went on failing."""


class RefusedError(DownloadError):
    """The server does not give the file, and trying again will not help."""


def download(url: str, part: Path, progress: Progress) -> None:
    """Bring the content of `url` into `part`, going on from what `part` already holds.

    The content is not checked here. After a failure `part` stays, so that a later call can go on from it.
    """
    furthest, pauses = _held(part), iter(PAUSES)
    while True:
        try:
            _receive(url, part, progress)
            return
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == _RANGE_NOT_SATISFIABLE:
                # There is nothing after what we hold, so it is either all of it or not of this file.
                part.unlink()
            elif error.code not in (408, 429) and error.code < 500:
                raise RefusedError(f"answers {error.code} {error.reason}") from error
            reason = f"it answers {error.code} {error.reason}"
        except (urllib.error.URLError, ConnectionError, TimeoutError, SSLError, HTTPException) as error:
            reason = str(getattr(error, "reason", None) or error or type(error).__name__)
        if _held(part) > furthest:
            furthest, pauses = _held(part), iter(PAUSES)
        pause = next(pauses, None)
        if pause is None:
            raise UnreachableError(reason)
        time.sleep(pause)


def _receive(url: str, part: Path, progress: Progress) -> None:
    held = _held(part)
    request = urllib.request.Request(url, headers={"User-Agent": "tiltmeter"})
    if held:
        request.add_header("Range", f"bytes={held}-")
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        if not _goes_on_from(response, held):
            held = 0
        length = response.headers.get("Content-Length")
        total = held + int(length) if length else None
        with part.open("ab" if held else "wb") as file:
            progress(held, total)
            while block := response.read(_BLOCK):
                file.write(block)
                held += len(block)
                progress(held, total)
    # A connection that is cut looks like the end of the content to `read`.
    if total is not None and held < total:
        raise ConnectionError(f"the connection was cut after {held} of {total} bytes")


def _held(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _goes_on_from(response: HTTPResponse, held: int) -> bool:
    """Whether the answer is the rest we asked for; a server may also ignore the range and send everything."""
    return response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {held}-")
