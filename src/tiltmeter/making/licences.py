"""Under which licence translated items may be published: what the licence of the source allows."""

import re
from typing import Final

from tiltmeter.errors import UsageError

# Derived works may have another licence, as long as the source is named.
PERMISSIVE: Final = ("Apache-2.0", "MIT", "CC-BY-4.0", "CC-BY-3.0", "CC0-1.0", "BSD-3-Clause", "ODC-BY-1.0")
# Derived works keep this licence.
_SHARE_ALIKE: Final = re.compile(r"\bCC-BY(?:-NC)?-SA(?:-\d\.\d)?|\bODBL-1\.0|\bA?GPL-\d\.0")
_NON_COMMERCIAL: Final = re.compile(r"\bCC-BY-NC-\d\.\d")
_NO_DERIVATIVES: Final = re.compile(r"\bCC-BY(?:-NC)?-ND\b")


def find_publishing_licence(source: str, wanted: str = "", *, is_written: bool = False) -> str:
    """The licence for items derived from a source with the licence `source`, a text that names it.

    `wanted` is the publisher's choice, empty for that of the source. A UsageError if the source does not allow it, or
    states no licence and none is chosen. `is_written` says that people wrote the items, so that there is no source.

    >>> find_publishing_licence("not stated in the repository; derived from StereoSet, which is CC-BY-SA-4.0")
    'CC-BY-SA-4.0'
    >>> find_publishing_licence("CC BY-SA 4.0")
    'CC-BY-SA-4.0'
    """
    if is_written:
        if not wanted:
            raise UsageError(
                "Written items need a licence to be published: name one with --licence, such as CC-BY-4.0, or as "
                "`licence` in project.toml."
            )
        return wanted
    stated = _normalise_licence(source)
    if _NO_DERIVATIVES.search(stated):
        raise UsageError(f"The source is under {source!r}, which does not allow translations to be published.")
    if kept := _SHARE_ALIKE.search(stated):
        licence = kept[0].replace("ODBL", "ODbL")
        if wanted and _normalise_licence(wanted) != _normalise_licence(licence):
            raise UsageError(
                f"The source is under {licence}, which its translations keep; they cannot be published under "
                f"{wanted}. Leave out the licence, or choose {licence}."
            )
        return licence
    non_commercial = _NON_COMMERCIAL.search(stated)
    if non_commercial and wanted and "-NC" not in _normalise_licence(wanted):
        raise UsageError(
            f"The source is under {non_commercial[0]}: choose a licence without commercial use, not {wanted}."
        )
    named = non_commercial[0] if non_commercial else next((name for name in PERMISSIVE if name.upper() in stated), "")
    if not wanted and not named:
        says = f"states {source!r}, which is not known here" if source else "states no licence"
        raise UsageError(
            f"The source {says}, so its translations are not published; if you have the right to, name a licence "
            "with --licence, or as `licence` in project.toml."
        )
    return wanted or named


def _normalise_licence(licence: str) -> str:
    """A text that names a licence, in capitals and with hyphens, as identifiers have them."""
    return re.sub(r"(?<=\w)[ _-]+(?=\w)", "-", licence.strip()).upper()
