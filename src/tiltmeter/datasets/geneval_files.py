"""The file names of MT-GenEval."""

import re


def list_reference_names(name: str) -> tuple[str, str]:
    """Return the names of two reference files for a file of sources: first the correct, then the incorrect references.

    >>> list_reference_names("geneval-sentences-feminine-test.en_es.en")[1]
    'geneval-sentences-masculine-test.en_es.es'
    """
    stem = name.removesuffix(".en")
    target = f"{stem}.{stem.rpartition('_')[2]}"
    if "-2to1-" in name:
        return target.replace("-2to1-", "-original-"), target.replace("-2to1-", "-flipped-")
    other = {"-feminine-": "-masculine-", "-masculine-": "-feminine-"}
    return target, re.sub("-(?:feminine|masculine)-", lambda match: other[match[0]], target, count=1)
