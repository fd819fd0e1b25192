"""Files of repositories that state no licence: used after the user accepted that, and their texts never exported.

The mark of acceptance is beside the files in the cache. Files of a mirror (`TILTMETER_MIRROR`) are the user's own and
need no acceptance.
"""

import sys
from functools import cache
from pathlib import Path

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.upstream_files import UpstreamFile
from tiltmeter.errors import UsageError
from tiltmeter.files import write_text

MARK = "used-without-licence"


def format_notice(repository: str) -> str:
    """What users should know before they use files of this repository."""
    return (
        f"{repository} states no licence. Its files are for use on this machine, where the law allows it; do not pass "
        "them on. Tiltmeter leaves their texts out of everything that it writes."
    )


def accept_notice(file: UpstreamFile) -> None:
    """Remember that the user accepted the notice about the repository of a file."""
    write_text(_get_consent_folder(file) / MARK, format_notice(file.repository) + "\n")


def is_accepted(file: UpstreamFile) -> bool:
    """Whether a file may be taken from the cache or from GitHub."""
    return file.licence_stated or (_get_consent_folder(file) / MARK).is_file()


def reject_unaccepted(file: UpstreamFile) -> None:
    """A UsageError if the notice about the repository of a file has not been accepted."""
    if not is_accepted(file):
        from tiltmeter.datasets.catalogue import DATASETS  # imported here, since data sets are made of files

        users = [data.name for data in DATASETS.values() if any(file in source.files for source in data.sources)]
        raise UsageError(
            f"{file.repository} states no licence, so that {file.path} is used only if you accept that: "
            f"`tiltmeter data get {next(iter(users), 'NAME')} --accept-no-licence`."
        )


@cache
def show_notice(repository: str) -> None:
    """Print the notice to standard error, once."""
    print(format_notice(repository), file=sys.stderr)


def _get_consent_folder(file: UpstreamFile) -> Path:
    return get_cache_folder() / "upstream" / file.repository / file.commit
