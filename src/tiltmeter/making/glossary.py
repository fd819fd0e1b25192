"""The glossary of a project: fixed translations of terms, in the file `glossary.csv`, which users edit."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tiltmeter.errors import DataError
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.making.exchange.csv_table import read_table
from tiltmeter.translators.translator_protocol import GlossaryTerm

GLOSSARY = "glossary.csv"
_COLUMNS = ("term", "translation")


def read_glossary(folder: Path) -> list[GlossaryTerm]:
    """Return the terms of `glossary.csv` in the folder of a project; an empty list if there is no such file.

    The file has the columns `term`, `translation` and, if wanted, `note`. A wrong row raises a DataError.
    """
    path = folder / GLOSSARY
    if not path.is_file():
        return []
    columns, rows = read_table(path)
    for name in _COLUMNS:
        if columns.count(name) != 1:
            raise DataError(f"{path} needs one column {name!r}; its columns are {', '.join(columns) or 'missing'}.")
    terms: dict[str, GlossaryTerm] = {}
    for number, values in rows:
        cells = {name: " ".join((values.get(name) or "").split()) for name in (*_COLUMNS, "note")}
        if not any(cells.values()):
            continue
        place = f"{path}, row {number}"
        for name in _COLUMNS:
            if not cells[name]:
                raise DataError(f"{place}: the column {name!r} is empty; fill it in, or delete the row.")
            if BLANK in cells[name]:
                raise DataError(f"{place}: the column {name!r} contains {BLANK}; remove it, because it marks a gap.")
        term = GlossaryTerm(cells["term"], cells["translation"], cells["note"])
        earlier = terms.setdefault(fold_case(term.term), term)
        if earlier.translation != term.translation:
            raise DataError(
                f"{place}: the term {term.term!r} already has the translation {earlier.translation!r} in an earlier "
                "row; keep one of the two rows."
            )
    return list(terms.values())


def select_terms(glossary: Sequence[GlossaryTerm], texts: Iterable[str]) -> list[GlossaryTerm]:
    """Return the terms of a glossary that occur in the texts as whole words; letter case does not count.

    >>> terms = [GlossaryTerm("cook", "cocinero"), GlossaryTerm("book", "libro")]
    >>> [term.translation for term in select_terms(terms, ["The Cook was BLANK."])]
    ['cocinero']
    """
    folded = "\n".join(map(fold_case, texts))
    return [term for term in glossary if re.search(rf"(?<!\w){re.escape(fold_case(term.term))}(?!\w)", folded)]
