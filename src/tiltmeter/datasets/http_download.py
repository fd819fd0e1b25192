"""Download a file over HTTP, with resume and retries, within bounds of size and time."""

import os
import stat
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from ssl import SSLError
from typing import IO, BinaryIO
from urllib.parse import unquote, urlsplit, urlunsplit

from tiltmeter.errors import DownloadError

Progress = Callable[[int, int | None], None]
"""Called with the number of bytes received and the total (None if the server does not send it)."""

TIMEOUT = 30.0
# A server must send at least so many bytes a second, looked at every so many seconds.
SLOWEST, WINDOW = 500, 8.0
PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each retry. Retries are counted anew whenever an attempt received more bytes than any before it."""
LARGEST = 1 << 26
"""Bytes; the largest file that is downloaded, if its size is not known. The largest that are known have 13 MB."""

_BLOCK = 1 << 16
_RANGE_NOT_SATISFIABLE = 416
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class UnreachableServerError(DownloadError):
    """The server could not be reached, or failed on every retry."""


class RejectedDownloadError(DownloadError):
    """The server refused the file with a permanent error, or sent what is not accepted."""


class StalledDownloadError(UnreachableServerError):
    """The server sends so slowly that the file would never be whole."""


def download(url: str, part: Path, progress: Progress, largest: int = LARGEST) -> None:
    """Download `url` into `part`, resuming from the bytes it already has.

    A user name and a password in the address are sent to its server only. Proxies are those of the environment. The
    content is not verified here. After a failure `part` is kept, so that a later call can resume.
    """
    most_received, pauses = _get_part_size(part), iter(PAUSES)
    while True:
        try:
            _receive(url, part, progress, largest)
            return
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == _RANGE_NOT_SATISFIABLE:
                # The partial file is not shorter than the file: it is complete, or not of this file. Start again.
                part.unlink()
            elif error.code not in (408, 429) and error.code < 500:
                raise RejectedDownloadError(f"answers {error.code} {error.reason}") from error
            reason = f"it answers {error.code} {error.reason}"
        except (urllib.error.URLError, ConnectionError, TimeoutError, SSLError, HTTPException) as error:
            reason = str(getattr(error, "reason", None) or error or type(error).__name__)
        if _get_part_size(part) > most_received:
            most_received, pauses = _get_part_size(part), iter(PAUSES)
        pause = next(pauses, None)
        if pause is None:
            raise UnreachableServerError(reason)
        time.sleep(pause)


def _receive(url: str, part: Path, progress: Progress, largest: int) -> None:
    received = _get_part_size(part)
    request = _build_request(url)
    if received:
        request.add_header("Range", f"bytes={received}-")
    with urllib.request.build_opener(_SafeRedirectHandler).open(request, timeout=TIMEOUT) as response:
        resumed = _has_requested_range(response, received)
        received = received if resumed else 0
        length = response.headers.get("Content-Length")
        total = received + int(length) if length and length.isdecimal() else None
        _reject_large(total, largest)
        with _open_part(part, resumed=resumed and received > 0) as file:
            progress(received, total)
            window, before = time.monotonic(), received
            # read1 returns what there is; read would wait for a whole block from a server that sends a byte at a time.
            while block := response.read1(_BLOCK):
                _reject_large(received + len(block), largest)
                file.write(block)
                received += len(block)
                progress(received, total)
                if (now := time.monotonic()) - window > WINDOW:
                    if received - before < SLOWEST * WINDOW:
                        raise StalledDownloadError(f"it sends less than {SLOWEST:,} bytes a second")
                    window, before = now, received
    # `read1` does not distinguish a closed connection from the end of the content.
    if total is not None and received < total:
        raise ConnectionError(f"the connection was cut after {received} of {total} bytes")


def _build_request(url: str) -> urllib.request.Request:
    """A request without the user name and password in the address; they are a header, which redirects do not get."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers={"User-Agent": "tiltmeter"})
    if at:
        request.add_unredirected_header("Authorization", f"Basic {b64encode(unquote(user).encode()).decode()}")
    return request


class _SafeRedirectHandler(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https, and none that gives up encryption."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        """The request that follows."""
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if after.scheme not in ("http", "https") or (before.scheme == "https" and after.scheme != "https"):
            raise RejectedDownloadError(f"leads to another place by {after.scheme}, which is not followed")
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        login = req.unredirected_hdrs.get("Authorization")
        if following is not None and login and (before.scheme, before.netloc) == (after.scheme, after.netloc):
            following.add_unredirected_header("Authorization", login)
        return following


def _reject_large(size: int | None, largest: int) -> None:
    if size is not None and size > largest:
        raise RejectedDownloadError(f"sends more than the {largest:,} bytes that the file has, or may have")


def _open_part(part: Path, *, resumed: bool) -> BinaryIO:
    """The part, to write to its end, or anew; never by a link that somebody put in its place."""
    if resumed:
        handle = os.open(part, os.O_WRONLY | os.O_APPEND | _NO_LINK)
    else:
        part.unlink(missing_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666)
    return os.fdopen(handle, "ab" if resumed else "wb")


def _get_part_size(part: Path) -> int:
    """The size of the part; 0 if there is none, or something else, such as a link or a file with a second name."""
    try:
        found = part.lstat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) and found.st_nlink == 1 else 0


def _has_requested_range(response: HTTPResponse, start: int) -> bool:
    """Whether the response has the requested range; a server may ignore the range and send the whole file."""
    return response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
