"""Download files over HTTP, with resumed downloads, retries, a maximum size and a minimum speed."""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tiltmeter.errors import DownloadError
from tiltmeter.progress.progress import Progress, ReportProgress

if TYPE_CHECKING:
    import httpx2

TIMEOUT = 30.0
"""The maximum number of seconds between two received blocks."""
SPEED, WINDOW = 500, 8.0
"""The minimum speed in bytes per second, and the number of seconds over which it is measured."""
PAUSES = (0.5, 1.0, 2.0)
"""The seconds to wait before each retry. The count restarts if an attempt received more bytes than all earlier ones."""
LARGEST = 1 << 26
"""The maximum size in bytes of a file whose size is not known; the largest known file has 13 MB."""

_RANGE_NOT_SATISFIABLE = 416
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class UnreachableServerError(DownloadError):
    """The server cannot be reached, or failed on every retry."""


class RejectedDownloadError(DownloadError):
    """The server answered with a permanent error, or with an unacceptable response.

    `status` is the HTTP status of a permanent error.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def download_file(
    url: str, part: Path, report: ReportProgress, largest: int = LARGEST, *, token: str | None = None
) -> None:
    """Download `url` into the partial file `part`; if `part` exists, resume the download. The content is not verified.

    `largest` is the maximum size in bytes. After a failure, `part` is kept for the next call. `token` is sent to the
    server of the address only.
    """
    # Imported here, because the import takes 0.1 seconds and most commands download nothing.
    from tiltmeter.http_client.limits import TooLargeError, TooSlowError
    from tiltmeter.http_client.response_stream import RefusalError
    from tiltmeter.http_client.retries import Retries, TransientError

    retries, most_received = Retries(PAUSES), _get_part_size(part)

    def receive() -> None:
        nonlocal most_received
        try:
            _receive_content(url, part, report, largest, token)
        finally:
            if _get_part_size(part) > most_received:
                most_received = _get_part_size(part)
                retries.reset_failures()

    try:
        retries.call_with_retries(receive)
    except TransientError as error:
        raise UnreachableServerError(str(error)) from error
    except TooSlowError as error:
        raise UnreachableServerError(f"it {error}") from error
    except (RefusalError, TooLargeError) as error:
        raise RejectedDownloadError(str(error), getattr(error, "status", None)) from error


def _receive_content(url: str, part: Path, report: ReportProgress, largest: int, token: str | None) -> None:
    from tiltmeter.http_client.limits import ReplyLimits, ReplyMeter
    from tiltmeter.http_client.response_stream import StatusError, open_stream
    from tiltmeter.http_client.retries import TransientError

    start = _get_part_size(part)
    # Request no compression, because a compressed response cannot be resumed.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        with open_stream(url, headers, TIMEOUT, token=token) as response:
            start = start if _has_requested_range(response, start) else 0
            length = response.headers.get("Content-Length", "")
            total = start + int(length) if length.isdecimal() else None
            meter = ReplyMeter(ReplyLimits(largest, SPEED, WINDOW), start)
            meter.check_announced_size(total)
            with _open_part(part, resumed=start > 0) as file:
                report(Progress(start, total))
                for block in response.iter_raw():
                    meter.add_block(block)
                    file.write(block)
                    report(Progress(meter.received, total))
    except StatusError as error:
        if error.status == _RANGE_NOT_SATISFIABLE:
            # The partial file is already complete, or it belongs to another file. Start the download again.
            part.unlink()
            raise TransientError(f"it {error}") from error
        raise


def _open_part(part: Path, *, resumed: bool) -> BinaryIO:
    """Open the partial file: to append if `resumed`, otherwise to overwrite. Links are not followed, for security."""
    if resumed:
        handle = os.open(part, os.O_WRONLY | os.O_APPEND | _NO_LINK)
    else:
        part.unlink(missing_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666)
    return os.fdopen(handle, "ab" if resumed else "wb")


def _get_part_size(part: Path) -> int:
    """Return the size of the partial file; 0 if it does not exist, or is a symbolic or hard link."""
    try:
        status = part.lstat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 else 0


def _has_requested_range(response: "httpx2.Response", start: int) -> bool:
    """Return whether the response begins at byte `start`; a server may ignore the requested range."""
    return response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
