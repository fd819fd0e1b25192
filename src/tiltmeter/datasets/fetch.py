"""Local copies of upstream files: from a mirror, from the cache, or downloaded into the cache."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote, urlsplit

from filelock import FileLock

from tiltmeter.datasets.cache import cache_dir
from tiltmeter.datasets.download import Progress, RefusedError, UnreachableError, download
from tiltmeter.datasets.download_bar import terminal_bar
from tiltmeter.datasets.hashing import read_digests
from tiltmeter.datasets.local_files import cached_path, mirror_setting
from tiltmeter.datasets.no_licence import refuse_unaccepted, show_notice
from tiltmeter.datasets.upstream import Pin, UpstreamFile
from tiltmeter.errors import DownloadError, UsageError
from tiltmeter.files import lock_mode, make_shared_folder

SERVICE = "https://raw.githubusercontent.com"

ShowProgress = Callable[[str], AbstractContextManager[Progress]]


class AbsentError(DownloadError):
    """The file is not available locally and could not be downloaded."""


def fetch(file: UpstreamFile, show: ShowProgress = terminal_bar) -> Path:
    """The local path of `file`, verified against its pin; downloads it if necessary.

    If `TILTMETER_MIRROR` is a folder, the file is used in place there; if it is an http(s) address, it replaces GitHub.
    `show` is called with the file's name when a download begins. A file of a repository without a licence needs the
    user's acceptance, unless it is from a mirror.
    """
    mirror = mirror_setting()
    if mirror is None:
        refuse_unaccepted(file)
    elif not file.licence_stated:
        show_notice(file.repository)
    if isinstance(mirror, Path) and (path := mirror / file.name).is_file():
        return _checked_in_mirror(path, file)
    target = cached_path(file)
    if _is_pinned(target, file.pin):
        return target
    if isinstance(mirror, Path):
        raise AbsentError(
            f"The mirror {mirror} has no {file.name}: copy it there from {_service_url(file)}, "
            "or unset TILTMETER_MIRROR to download it."
        )
    url = _service_url(file) if mirror is None else f"{mirror.rstrip('/')}/{quote(file.name)}"
    try:
        make_shared_folder(target.parent)
        with FileLock(f"{target}.lock", mode=lock_mode(target)):
            # Another process may have downloaded it in the meantime.
            if not _is_pinned(target, file.pin):
                _download(file, url, target, show)
    except (OSError, UsageError) as error:
        raise DownloadError(
            f"The cache {cache_dir()} cannot be written to ({error}): set TILTMETER_CACHE to a folder that can."
        ) from error
    return target


def _service_url(file: UpstreamFile) -> str:
    return f"{SERVICE}/{file.repository}/{file.commit}/{quote(file.path)}"


def _is_pinned(path: Path, pin: Pin) -> bool:
    return path.is_file() and pin.of_file(path) == pin


def _checked_in_mirror(path: Path, file: UpstreamFile) -> Path:
    actual = file.pin.of_file(path)
    if actual != file.pin:
        raise DownloadError(
            f"{path} is not the pinned file: expected {file.pin}, found {actual}; put the file of {_service_url(file)} "
            "there, or unset TILTMETER_MIRROR to download it."
        )
    return path


def _download(file: UpstreamFile, url: str, target: Path, show: ShowProgress) -> None:
    part = target.with_name(target.name + ".part")
    try:
        with show(file.name) as progress:
            download(url, part, progress)
    except UnreachableError as error:
        raise AbsentError(
            f"{file.name} is not in the cache and {urlsplit(url).netloc} cannot be reached ({error}): connect to the "
            "internet once to download it, or set TILTMETER_MIRROR to a folder or an http(s) address that has it."
        ) from error
    except RefusedError as error:
        raise AbsentError(
            f"{file.name} is not in the cache and {url} {error}: set TILTMETER_MIRROR to a folder or an http(s) "
            "address that has it, or unset it to ask GitHub."
        ) from error
    # Not `of_file`, whose digest may be cached from an earlier attempt.
    actual = file.pin.of_digests(read_digests(part))
    if actual != file.pin:
        part.unlink()
        raise DownloadError(
            f"What {url} sent for {file.name} is not the pinned file and was deleted: expected {file.pin}, found "
            f"{actual}; try again, or set TILTMETER_MIRROR to a folder or an http(s) address that has the right one."
        )
    part.replace(target)
