"""Under which licence translated items may be published: what the licence of the source allows."""

import re
from typing import Final

from tiltmeter.errors import UsageError

# Derived works keep this licence.
SHARE_ALIKE: Final = ("CC-BY-NC-SA-4.0", "CC-BY-SA-4.0", "CC-BY-SA-3.0", "ODbL-1.0", "GPL-3.0")
# Derived works may have another licence, as long as the source is named.
PERMISSIVE: Final = ("Apache-2.0", "MIT", "CC-BY-4.0", "CC-BY-3.0", "CC0-1.0", "BSD-3-Clause", "ODC-BY-1.0")
NON_COMMERCIAL: Final = ("CC-BY-NC-4.0",)


def publishing_licence(source: str, wanted: str = "") -> str:
    """The licence for items derived from a source with the licence `source`, a text that names it.

    `wanted` is the publisher's choice, empty for that of the source. A UsageError if the source does not allow it, or
    states no licence and none is chosen.

    >>> publishing_licence("not stated in the repository; derived from StereoSet, which is CC-BY-SA-4.0")
    'CC-BY-SA-4.0'
    """
    if re.search(r"\bCC[- ]BY(-NC)?[- ]ND\b", source, re.IGNORECASE):
        raise UsageError(f"The source is under {source!r}, which does not allow translations to be published.")
    for licence in SHARE_ALIKE:
        if licence in source:
            if wanted and wanted != licence:
                raise UsageError(
                    f"The source is under {licence}, which its translations keep; they cannot be published under "
                    f"{wanted}. Leave out the licence, or choose {licence}."
                )
            return licence
    for licence in NON_COMMERCIAL:
        if licence in source and wanted and "-NC" not in wanted:
            raise UsageError(f"The source is under {licence}: choose a licence without commercial use, not {wanted}.")
    named = next((licence for licence in (*NON_COMMERCIAL, *PERMISSIVE) if licence in source), "")
    if not wanted and not named:
        stated = f"states {source!r}, which is not known here" if source else "states no licence"
        raise UsageError(
            f"The source {stated}, so its translations are not published; if you have the right to, name a licence "
            "with --licence, or as `licence` in project.toml."
        )
    return wanted or named
