"""Local copies of upstream files: from a mirror, from the cache, or downloaded into the cache."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote, urlsplit

from filelock import FileLock

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.download_checks import detect_wrong_page
from tiltmeter.datasets.download_progress import show_download_bar
from tiltmeter.datasets.file_hashes import compute_hashes
from tiltmeter.datasets.http_download import LARGEST, Progress, RejectedDownloadError, UnreachableServerError, download
from tiltmeter.datasets.licence_consent import reject_unaccepted, show_notice
from tiltmeter.datasets.local_files import get_cached_path, get_mirror
from tiltmeter.datasets.recorded_hashes import get_expected_pin, get_record_path, read_recorded_pin, record_hash
from tiltmeter.datasets.upstream_files import Pin, UpstreamFile
from tiltmeter.errors import DownloadError, UsageError
from tiltmeter.files import create_shared_folder, get_lock_mode
from tiltmeter.redaction import redact_address

# The variable of the environment that forbids downloads, as on nodes of a cluster.
OFFLINE = "TILTMETER_OFFLINE"
SERVICE = "https://raw.githubusercontent.com"

ShowProgress = Callable[[str], AbstractContextManager[Progress]]


class UnavailableFileError(DownloadError):
    """The file is not available locally and could not be downloaded."""


def fetch_file(file: UpstreamFile, show: ShowProgress = show_download_bar) -> Path:
    """The local path of `file`, verified against its pin or its recorded hash; downloads it if necessary.

    If `TILTMETER_MIRROR` is a folder, the file is used in place there; if it is an http(s) address, it replaces GitHub.
    `show` is called with the file's name when a download begins. A file of a repository without a licence needs the
    user's acceptance, unless it is from a mirror.
    """
    mirror = get_mirror()
    if mirror is None:
        reject_unaccepted(file)
    elif not file.licence_stated:
        show_notice(file.repository)
    if isinstance(mirror, Path) and (path := mirror / file.name).is_file():
        return _check_mirror_file(path, file)
    target = get_cached_path(file)
    if _has_expected_hash(target, file):
        record_hash(file, target)
        return target
    if isinstance(mirror, Path):
        raise UnavailableFileError(
            f"The mirror {mirror} has no {file.name}: copy it there from {_build_service_url(file)}, "
            "or unset TILTMETER_MIRROR to download it."
        )
    if os.environ.get(OFFLINE):
        raise UnavailableFileError(
            f"{file.name} is not in the cache {get_cache_folder()}, and {OFFLINE} is set, so nothing is downloaded; "
            "bring it "
            "there with --prefetch, or unset that variable."
        )
    url = _build_service_url(file) if mirror is None else f"{mirror.rstrip('/')}/{quote(file.name)}"
    try:
        create_shared_folder(target.parent)
        with FileLock(f"{target}.lock", mode=get_lock_mode(target)):
            # Another process may have downloaded it in the meantime.
            if not _has_expected_hash(target, file):
                _download(file, url, target, show)
    except (OSError, UsageError) as error:
        raise DownloadError(
            f"The cache {get_cache_folder()} cannot be written to ({error}): set TILTMETER_CACHE to a folder that can."
        ) from error
    return target


def _build_service_url(file: UpstreamFile) -> str:
    return f"{SERVICE}/{file.repository}/{file.commit}/{quote(file.path)}"


def _has_expected_hash(path: Path, file: UpstreamFile) -> bool:
    """Whether a file is there with the known or the recorded hash; without either, whether it may be data."""
    if not path.is_file():
        return False
    pin = get_expected_pin(file)
    return pin.compute_for_file(path) == pin if pin.is_hash else detect_wrong_page(path, known=False) is None


def _check_mirror_file(path: Path, file: UpstreamFile) -> Path:
    pin = get_expected_pin(file)
    actual, page = pin.compute_for_file(path), detect_wrong_page(path, known=pin.is_hash)
    if actual != pin or (page and not pin.is_hash):
        raise DownloadError(
            f"{path} is not {_describe_expected_file(file)}: {_describe_difference(pin, actual, page)}; "
            f"put the file of {_build_service_url(file)} "
            "there, or unset TILTMETER_MIRROR to download it."
        )
    return path


def _download(file: UpstreamFile, url: str, target: Path, show: ShowProgress) -> None:
    part, pin, address = target.with_name(target.name + ".part"), get_expected_pin(file), redact_address(url)
    if not pin.is_hash:
        # Nothing would tell whether both halves are of the same file.
        part.unlink(missing_ok=True)
    try:
        with show(file.name) as progress:
            download(url, part, progress, file.size or LARGEST)
    except UnreachableServerError as error:
        raise UnavailableFileError(
            f"{file.name} is not in the cache and {urlsplit(address).netloc} cannot be reached ({error}): connect to "
            "the internet once to download it, or set TILTMETER_MIRROR to a folder or an http(s) address that has it."
        ) from error
    except RejectedDownloadError as error:
        part.unlink(missing_ok=True)
        raise UnavailableFileError(
            f"{file.name} is not in the cache and {address} {error}: set TILTMETER_MIRROR to a folder or an http(s) "
            "address that has it, or unset it to ask GitHub."
        ) from error
    # Not `of_file`, whose digest may be cached from an earlier attempt.
    actual, page = pin.build_from_hashes(compute_hashes(part)), detect_wrong_page(part, known=pin.is_hash)
    if actual != pin or (page and not pin.is_hash):
        part.unlink()
        raise DownloadError(
            f"What {address} sent for {file.name} is not {_describe_expected_file(file)} and was deleted: "
            f"{_describe_difference(pin, actual, page)}; "
            "try again, or set TILTMETER_MIRROR to a folder or an http(s) address "
            f"that has the right one{_describe_remedy(file)}."
        )
    part.replace(target)
    record_hash(file, target)


def _describe_expected_file(file: UpstreamFile) -> str:
    """Which file was expected."""
    if file.pin.is_hash:
        return "the pinned file"
    return "the file" if read_recorded_pin(file) is None else "the file that was downloaded first"


def _describe_difference(pin: Pin, actual: Pin, page: str | None) -> str:
    hashes = f"expected {pin}, found {actual}" if pin.is_hash else ""
    return ", ".join(filter(None, (f"it is {page}" if page else "", hashes)))


def _describe_remedy(file: UpstreamFile) -> str:
    """What to do if a file rightly differs from the one that was downloaded first."""
    if file.pin.is_hash or read_recorded_pin(file) is None:
        return ""
    return f"; if the first one was wrong, delete {get_record_path(file)}"
