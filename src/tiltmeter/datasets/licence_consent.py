"""Consent of the user to use files of repositories that state no licence. Texts of these files are never exported.

The consent is stored next to the files in the cache. Files of a mirror (`TILTMETER_MIRROR`) need no consent.
"""

import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.upstream_files import UpstreamFile
from tiltmeter.errors import UsageError
from tiltmeter.files import write_text

MARK = "used-without-licence"


def format_notice(repository: str) -> str:
    """Return the notice to users of a repository that states no licence."""
    return (
        f"{repository} states no licence. Its files are for use on this machine, where the law allows it; do not "
        "redistribute them. Tiltmeter leaves their texts out of runs, reports and all other files that it writes."
    )


def format_gated_notice(repository: str) -> str:
    """Return the notice to users of a gated data set, which was downloaded with their account."""
    return (
        f"{repository} is gated: its files are for you alone, under the conditions that you accepted on the hub. Do "
        "not redistribute them. Tiltmeter leaves their texts out of runs, reports and all other files that it writes."
    )


def list_notices(files: Iterable[UpstreamFile]) -> list[str]:
    """Return the notices about the repositories of some files that state no licence or are gated."""
    notices = []
    for file in files:
        notices += [] if file.licence_stated else [format_notice(file.repository)]
        notices += [format_gated_notice(file.repository)] if file.gated else []
    return list(dict.fromkeys(notices))


def accept_notice(file: UpstreamFile) -> None:
    """Store the user's consent to use the files of a repository without a licence; `file` is one of these files."""
    write_text(_get_consent_folder(file) / MARK, format_notice(file.repository) + "\n")


def is_notice_accepted(file: UpstreamFile) -> bool:
    """Return whether a file may be used: its repository states a licence, or the user has given consent."""
    return file.licence_stated or (_get_consent_folder(file) / MARK).is_file()


def reject_unaccepted_file(file: UpstreamFile, dataset: str) -> None:
    """Raise an error if the repository of a file needs the user's consent and the user has not given it."""
    if not is_notice_accepted(file):
        raise UsageError(
            f"{file.repository} states no licence, so {file.path} needs your consent: run "
            f"`tiltmeter data get {dataset or 'NAME'} --accept-no-licence`."
        )


@cache
def show_notice(notice: str) -> None:
    """Print a notice about a repository to standard error, once per process."""
    print(notice, file=sys.stderr)


def _get_consent_folder(file: UpstreamFile) -> Path:
    return get_cache_folder() / "upstream" / file.folder / file.commit
