"""Local copies of upstream files: from a mirror, from the cache, or by download into the cache."""

import os
from pathlib import Path
from urllib.parse import quote, urlsplit

from filelock import FileLock

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.download_checks import detect_wrong_page
from tiltmeter.datasets.download_services import build_service_url, explain_missing_access, get_token
from tiltmeter.datasets.file_hashes import compute_hashes
from tiltmeter.datasets.http_download import LARGEST, RejectedDownloadError, UnreachableServerError, download_file
from tiltmeter.datasets.licence_consent import list_notices, reject_unaccepted_file, show_notice
from tiltmeter.datasets.local_files import get_cached_path, get_mirror
from tiltmeter.datasets.recorded_hashes import get_expected_pin, get_record_path, read_recorded_pin, record_hash
from tiltmeter.datasets.upstream_files import Pin, UpstreamFile
from tiltmeter.errors import DownloadError, UsageError
from tiltmeter.files import create_shared_folder, get_lock_mode
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.progress.terminal_progress import show_download
from tiltmeter.redaction import redact_address

# The environment variable that disables downloads, for example on cluster nodes.
OFFLINE = "TILTMETER_OFFLINE"
_SET_MIRROR = "set TILTMETER_MIRROR to a folder or an http(s) address with this file"


class UnavailableFileError(DownloadError):
    """The file is not available locally and could not be downloaded."""


def fetch_file(file: UpstreamFile, show: ShowProgress = show_download, *, dataset: str = "") -> Path:
    """Return the local path of an upstream file after verifying its hash; download the file if necessary.

    If `TILTMETER_MIRROR` is a folder, its files are used directly. If it is an http(s) address, files are downloaded
    from there instead of GitHub or the hub.
    `show` is called with the name of the file when a download begins. `dataset` is the name of the data set in the
    error message about a repository without a licence.
    """
    mirror = get_mirror()
    if mirror is None:
        reject_unaccepted_file(file, dataset)
    for notice in list_notices([file]) if mirror is not None or file.gated else []:
        show_notice(notice)
    if isinstance(mirror, Path) and (path := mirror / file.name).is_file():
        return _check_mirror_file(path, file)
    target = get_cached_path(file)
    if _has_expected_hash(target, file):
        record_hash(file, target)
        return target
    if isinstance(mirror, Path):
        raise UnavailableFileError(
            f"The mirror {mirror} does not contain {file.name}: copy this file into the mirror from "
            f"{build_service_url(file)}, or unset TILTMETER_MIRROR to download the file."
        )
    if os.environ.get(OFFLINE):
        raise UnavailableFileError(
            f"{file.name} is not in the cache {get_cache_folder()}, and {OFFLINE} disables downloads; download it with "
            "--prefetch on a machine with internet access, or unset the variable."
        )
    url = build_service_url(file) if mirror is None else f"{mirror.rstrip('/')}/{quote(file.name)}"
    token = get_token(file) if mirror is None else None
    try:
        create_shared_folder(target.parent)
        with FileLock(f"{target}.lock", mode=get_lock_mode(target)):
            # Another process may have downloaded the file while this process waited.
            if not _has_expected_hash(target, file):
                _download_file(file, url, target, show, token)
    except (OSError, UsageError) as error:
        raise DownloadError(
            f"The cache {get_cache_folder()} cannot be written ({error}): set TILTMETER_CACHE to a writable folder."
        ) from error
    return target


def _has_expected_hash(path: Path, file: UpstreamFile) -> bool:
    """Return whether a file exists and has the expected hash.

    If no hash is known, check only that the file looks like data and not, for example, like an error page.
    """
    if not path.is_file():
        return False
    pin = get_expected_pin(file)
    return pin.compute_for_file(path) == pin if pin.is_hash else detect_wrong_page(path, known=False) is None


def _check_mirror_file(path: Path, file: UpstreamFile) -> Path:
    pin = get_expected_pin(file)
    actual, page = pin.compute_for_file(path), detect_wrong_page(path, known=pin.is_hash)
    if actual != pin or (page and not pin.is_hash):
        raise DownloadError(
            f"{path} is not {_describe_expected_file(file)}: {_describe_difference(pin, actual, page)}; replace it by "
            f"{build_service_url(file)}, or unset TILTMETER_MIRROR to download it."
        )
    return path


def _download_file(file: UpstreamFile, url: str, target: Path, show: ShowProgress, token: str | None) -> None:
    part, pin, address = target.with_name(target.name + ".part"), get_expected_pin(file), redact_address(url)
    if not pin.is_hash:
        # Without a hash, a resumed download could join parts of two different files.
        part.unlink(missing_ok=True)
    try:
        with show(file.name) as report:
            download_file(url, part, report, file.size or LARGEST, token=token)
    except UnreachableServerError as error:
        raise UnavailableFileError(
            f"{file.name} is not in the cache, and {urlsplit(address).netloc} cannot be reached ({error}): connect to "
            f"the internet to download it, or {_SET_MIRROR}."
        ) from error
    except RejectedDownloadError as error:
        part.unlink(missing_ok=True)
        if url == build_service_url(file) and (
            hint := explain_missing_access(file, error.status, has_token=token is not None)
        ):
            raise UnavailableFileError(hint) from error
        raise UnavailableFileError(
            f"{file.name} is not in the cache and cannot be downloaded, because {address} {error}: {_SET_MIRROR}, or, "
            "if the variable is already set, unset it to use the original service."
        ) from error
    # Do not use `compute_for_file`, which may return the cached hash of an earlier attempt.
    actual, page = pin.build_from_hashes(compute_hashes(part)), detect_wrong_page(part, known=pin.is_hash)
    if actual != pin or (page and not pin.is_hash):
        part.unlink()
        raise DownloadError(
            f"The download of {file.name} from {address} is not {_describe_expected_file(file)} and was deleted: "
            f"{_describe_difference(pin, actual, page)}; try again, or {_SET_MIRROR}{_describe_remedy(file)}."
        )
    part.replace(target)
    record_hash(file, target)


def _describe_expected_file(file: UpstreamFile) -> str:
    if file.pin.is_hash:
        return "the pinned file"
    return "the file" if read_recorded_pin(file) is None else "the file that was downloaded first"


def _describe_difference(pin: Pin, actual: Pin, page: str | None) -> str:
    hashes = f"expected {pin}, found {actual}" if pin.is_hash else ""
    return ", ".join(filter(None, (f"it is {page}" if page else "", hashes)))


def _describe_remedy(file: UpstreamFile) -> str:
    if file.pin.is_hash or read_recorded_pin(file) is None:
        return ""
    return f"; if the first download was wrong, delete {get_record_path(file)}"
