"""Download a file over HTTP, with resume and retries."""

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from ssl import SSLError

from tiltmeter.errors import DownloadError

Progress = Callable[[int, int | None], None]
"""Called with the number of bytes received and the total (None if the server does not send it)."""

TIMEOUT = 30.0
# A server must send at least so many bytes a second, looked at every so many seconds.
SLOWEST, WINDOW = 500, 8.0
PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each retry. Retries are counted anew whenever an attempt received more bytes than any before it."""

_BLOCK = 1 << 16
_RANGE_NOT_SATISFIABLE = 416


class UnreachableError(DownloadError):
    """The server could not be reached, or failed on every retry."""


class RefusedError(DownloadError):
    """The server refused the file with a permanent error."""


class StalledError(UnreachableError):
    """The server sends so slowly that the file would never be whole."""


def download(url: str, part: Path, progress: Progress) -> None:
    """Download `url` into `part`, resuming from the bytes it already has.

    The content is not verified here. After a failure `part` is kept, so that a later call can resume.
    """
    most_received, pauses = _size(part), iter(PAUSES)
    while True:
        try:
            _receive(url, part, progress)
            return
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == _RANGE_NOT_SATISFIABLE:
                # The partial file is not shorter than the file: it is complete, or not of this file. Start again.
                part.unlink()
            elif error.code not in (408, 429) and error.code < 500:
                raise RefusedError(f"answers {error.code} {error.reason}") from error
            reason = f"it answers {error.code} {error.reason}"
        except (urllib.error.URLError, ConnectionError, TimeoutError, SSLError, HTTPException) as error:
            reason = str(getattr(error, "reason", None) or error or type(error).__name__)
        if _size(part) > most_received:
            most_received, pauses = _size(part), iter(PAUSES)
        pause = next(pauses, None)
        if pause is None:
            raise UnreachableError(reason)
        time.sleep(pause)


def _receive(url: str, part: Path, progress: Progress) -> None:
    received = _size(part)
    request = urllib.request.Request(url, headers={"User-Agent": "tiltmeter"})
    if received:
        request.add_header("Range", f"bytes={received}-")
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        if not _resumes_at(response, received):
            received = 0
        length = response.headers.get("Content-Length")
        total = received + int(length) if length else None
        with part.open("ab" if received else "wb") as file:
            progress(received, total)
            window, before = time.monotonic(), received
            # read1 returns what there is; read would wait for a whole block from a server that sends a byte at a time.
            while block := response.read1(_BLOCK):
                file.write(block)
                received += len(block)
                progress(received, total)
                if (now := time.monotonic()) - window > WINDOW:
                    if received - before < SLOWEST * WINDOW:
                        raise StalledError(f"it sends less than {SLOWEST:,} bytes a second")
                    window, before = now, received
    # `read` does not distinguish a closed connection from the end of the content.
    if total is not None and received < total:
        raise ConnectionError(f"the connection was cut after {received} of {total} bytes")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _resumes_at(response: HTTPResponse, start: int) -> bool:
    """Whether the response has the requested range; a server may ignore the range and send the whole file."""
    return response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
