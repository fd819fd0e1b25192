"""Local copies of upstream files: from a mirror, from the cache, or downloaded into the cache."""

import os
from pathlib import Path
from urllib.parse import quote, urlsplit

from filelock import FileLock

from tiltmeter.addresses import public_address
from tiltmeter.datasets.cache import cache_dir
from tiltmeter.datasets.download import LARGEST, RefusedError, UnreachableError, download
from tiltmeter.datasets.hashing import read_digests
from tiltmeter.datasets.local_files import cached_path, mirror_setting
from tiltmeter.datasets.no_licence import refuse_unaccepted, show_notice
from tiltmeter.datasets.recorded import expected_pin, record, record_path, recorded_pin
from tiltmeter.datasets.upstream import Pin, UpstreamFile
from tiltmeter.datasets.wrong_pages import wrong_page
from tiltmeter.errors import DownloadError, UsageError
from tiltmeter.files import lock_mode, make_shared_folder
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.progress.terminal_progress import show_download

# The variable of the environment that forbids downloads, as on nodes of a cluster.
OFFLINE = "TILTMETER_OFFLINE"
SERVICE = "https://raw.githubusercontent.com"


class AbsentError(DownloadError):
    """The file is not available locally and could not be downloaded."""


def fetch(file: UpstreamFile, show: ShowProgress = show_download, *, dataset: str = "") -> Path:
    """The local path of `file`, verified against its pin or its recorded hash; downloads it if necessary.

    If `TILTMETER_MIRROR` is a folder, the file is used in place there; if it is an http(s) address, it replaces GitHub.
    `show` is called with the file's name when a download begins. A file of a repository without a licence needs the
    user's acceptance, unless it is from a mirror; `dataset` names the data set in the message that asks for it.
    """
    mirror = mirror_setting()
    if mirror is None:
        refuse_unaccepted(file, dataset)
    elif not file.licence_stated:
        show_notice(file.repository)
    if isinstance(mirror, Path) and (path := mirror / file.name).is_file():
        return _checked_in_mirror(path, file)
    target = cached_path(file)
    if _is_as_expected(target, file):
        record(file, target)
        return target
    if isinstance(mirror, Path):
        raise AbsentError(
            f"The mirror {mirror} has no {file.name}: copy it there from {_service_url(file)}, "
            "or unset TILTMETER_MIRROR to download it."
        )
    if os.environ.get(OFFLINE):
        raise AbsentError(
            f"{file.name} is not in the cache {cache_dir()}, and {OFFLINE} is set, so nothing is downloaded; bring it "
            "there with --prefetch, or unset that variable."
        )
    url = _service_url(file) if mirror is None else f"{mirror.rstrip('/')}/{quote(file.name)}"
    try:
        make_shared_folder(target.parent)
        with FileLock(f"{target}.lock", mode=lock_mode(target)):
            # Another process may have downloaded it in the meantime.
            if not _is_as_expected(target, file):
                _download(file, url, target, show)
    except (OSError, UsageError) as error:
        raise DownloadError(
            f"The cache {cache_dir()} cannot be written to ({error}): set TILTMETER_CACHE to a folder that can."
        ) from error
    return target


def _service_url(file: UpstreamFile) -> str:
    return f"{SERVICE}/{file.repository}/{file.commit}/{quote(file.path)}"


def _is_as_expected(path: Path, file: UpstreamFile) -> bool:
    """Whether a file is there with the known or the recorded hash; without either, whether it may be data."""
    if not path.is_file():
        return False
    pin = expected_pin(file)
    return pin.of_file(path) == pin if pin.is_hash else wrong_page(path, known=False) is None


def _checked_in_mirror(path: Path, file: UpstreamFile) -> Path:
    pin = expected_pin(file)
    actual, page = pin.of_file(path), wrong_page(path, known=pin.is_hash)
    if actual != pin or (page and not pin.is_hash):
        raise DownloadError(
            f"{path} is not {_which(file)}: {_difference(pin, actual, page)}; put the file of {_service_url(file)} "
            "there, or unset TILTMETER_MIRROR to download it."
        )
    return path


def _download(file: UpstreamFile, url: str, target: Path, show: ShowProgress) -> None:
    part, pin, address = target.with_name(target.name + ".part"), expected_pin(file), public_address(url)
    if not pin.is_hash:
        # Nothing would tell whether both halves are of the same file.
        part.unlink(missing_ok=True)
    try:
        with show(file.name) as report:
            download(url, part, report, file.size or LARGEST)
    except UnreachableError as error:
        raise AbsentError(
            f"{file.name} is not in the cache and {urlsplit(address).netloc} cannot be reached ({error}): connect to "
            "the internet once to download it, or set TILTMETER_MIRROR to a folder or an http(s) address that has it."
        ) from error
    except RefusedError as error:
        part.unlink(missing_ok=True)
        raise AbsentError(
            f"{file.name} is not in the cache and {address} {error}: set TILTMETER_MIRROR to a folder or an http(s) "
            "address that has it, or unset it to ask GitHub."
        ) from error
    # Not `of_file`, whose digest may be cached from an earlier attempt.
    actual, page = pin.of_digests(read_digests(part)), wrong_page(part, known=pin.is_hash)
    if actual != pin or (page and not pin.is_hash):
        part.unlink()
        raise DownloadError(
            f"What {address} sent for {file.name} is not {_which(file)} and was deleted: "
            f"{_difference(pin, actual, page)}; try again, or set TILTMETER_MIRROR to a folder or an http(s) address "
            f"that has the right one{_way_out(file)}."
        )
    part.replace(target)
    record(file, target)


def _which(file: UpstreamFile) -> str:
    """Which file was expected."""
    if file.pin.is_hash:
        return "the pinned file"
    return "the file" if recorded_pin(file) is None else "the file that was downloaded first"


def _difference(pin: Pin, actual: Pin, page: str | None) -> str:
    hashes = f"expected {pin}, found {actual}" if pin.is_hash else ""
    return ", ".join(filter(None, (f"it is {page}" if page else "", hashes)))


def _way_out(file: UpstreamFile) -> str:
    """What to do if a file rightly differs from the one that was downloaded first."""
    if file.pin.is_hash or recorded_pin(file) is None:
        return ""
    return f"; if the first one was wrong, delete {record_path(file)}"
