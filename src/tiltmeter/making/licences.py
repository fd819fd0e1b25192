"""The licence under which translated items may be published, given the licence of their source."""

import re
from typing import Final

from tiltmeter.errors import UsageError

# Licences of sources whose translations may have another licence if the source is named.
PERMISSIVE: Final = ("Apache-2.0", "MIT", "CC-BY-4.0", "CC-BY-3.0", "CC0-1.0", "BSD-3-Clause", "ODC-BY-1.0")
# Licences of sources whose translations must have the same licence.
_SHARE_ALIKE: Final = re.compile(r"\bCC-BY(?:-NC)?-SA(?:-\d\.\d)?|\bODBL-1\.0|\bA?GPL-\d\.0")
_NON_COMMERCIAL: Final = re.compile(r"\bCC-BY-NC-\d\.\d")
_NO_DERIVATIVES: Final = re.compile(r"\bCC-BY(?:-NC)?-ND\b")


def find_publishing_licence(source: str, wanted: str = "", *, is_written: bool = False) -> str:
    """Return the licence for items that are derived from a source whose licence statement is `source`.

    `wanted` is the licence that the publisher wants; if it is empty, the licence of the source is used. Raise a
    UsageError if the source does not allow the wanted licence, or if both licences are unknown. `is_written` means that
    people wrote the items, so that there is no source.

    >>> find_publishing_licence("not stated in the repository; derived from StereoSet, which is CC-BY-SA-4.0")
    'CC-BY-SA-4.0'
    >>> find_publishing_licence("CC BY-SA 4.0")
    'CC-BY-SA-4.0'
    """
    if is_written:
        if not wanted:
            raise UsageError(
                "Written items need a licence; set one with --licence, for example CC-BY-4.0, or as `licence` in "
                "project.toml."
            )
        return wanted
    stated = _normalise_licence(source)
    if _NO_DERIVATIVES.search(stated):
        raise UsageError(f"The licence of the source, {source!r}, does not allow publishing translations.")
    if inherited := _SHARE_ALIKE.search(stated):
        licence = inherited[0].replace("ODBL", "ODbL")
        if wanted and _normalise_licence(wanted) != _normalise_licence(licence):
            raise UsageError(
                f"Translations inherit the licence of the source, {licence}, and cannot be published under {wanted}; "
                f"remove the setting `licence`, or choose {licence}."
            )
        return licence
    non_commercial = _NON_COMMERCIAL.search(stated)
    if non_commercial and wanted and "-NC" not in _normalise_licence(wanted):
        raise UsageError(
            f"The licence of the source, {non_commercial[0]}, forbids commercial use; choose a non-commercial licence "
            f"instead of {wanted}."
        )
    named = non_commercial[0] if non_commercial else next((name for name in PERMISSIVE if name.upper() in stated), "")
    if not wanted and not named:
        problem = f"has the unknown licence {source!r}" if source else "states no licence"
        raise UsageError(
            f"The source {problem}, so its translations cannot be published; if you have the right to publish them, "
            "set a licence with --licence, or as `licence` in project.toml."
        )
    return wanted or named


def _normalise_licence(licence: str) -> str:
    """Return the name of a licence in capitals and with hyphens instead of spaces, like SPDX identifiers."""
    return re.sub(r"(?<=\w)[ _-]+(?=\w)", "-", licence.strip()).upper()
