"""Tables of stereotypes of a culture, as in SeeGULL Multilingual: identities, attributes and the votes of raters."""

import unicodedata
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import DataError, UsageError
from tiltmeter.making.exchange.csv_table import read_table

# The columns of a table. The first two are required.
IDENTITY, ATTRIBUTE = "identity", "attribute"
VOTES_FOR, VOTES_AGAINST = "stereotype", "non_stereotype"
ENGLISH_IDENTITY = "translated_identity"


@dataclass(frozen=True, slots=True)
class StereotypeRow:
    """An attribute of an identity, such as a nationality, and how many raters call this a stereotype or do not.

    `target` is the name of the identity in English if the table has one. The numbers of votes are None if the table has
    no columns for them.
    """

    identity: str
    target: str
    attribute: str
    votes_for: int | None = None
    votes_against: int | None = None

    def is_stereotype(self, votes: int) -> bool:
        """Return whether at least `votes` raters call this a stereotype, and fewer deny it."""
        if self.votes_for is None:
            return True
        return self.votes_for >= votes and self.votes_for > (self.votes_against or 0)

    def is_rejected(self, votes: int) -> bool:
        """Return whether at least `votes` raters deny that this is a stereotype, and fewer call it one."""
        return self.votes_against is not None and self.votes_against >= max(votes, (self.votes_for or 0) + 1)


def read_stereotype_table(path: Path) -> list[StereotypeRow]:
    """Read a CSV file with the columns `identity` and `attribute`.

    Optional columns are `stereotype` and `non_stereotype` (numbers of votes), and `translated_identity` (in English).
    """
    columns, rows = read_table(path)
    if missing := [name for name in (IDENTITY, ATTRIBUTE) if name not in columns]:
        raise DataError(
            f"{path} has no column `{missing[0]}`; a table of stereotypes needs `{IDENTITY}` and `{ATTRIBUTE}`."
        )
    has_votes = VOTES_FOR in columns and VOTES_AGAINST in columns
    found: dict[tuple[str, str], StereotypeRow] = {}
    for number, row in rows:
        identity, attribute = _clean_term(row[IDENTITY]), _clean_term(row[ATTRIBUTE])
        if not identity or not attribute:
            name = ATTRIBUTE if identity else IDENTITY
            raise DataError(f"{path}, row {number}: the column `{name}` is empty; fill it in, or remove the row.")
        target = _clean_term(row.get(ENGLISH_IDENTITY) or "") or identity
        votes = [_parse_votes(path, number, name, row[name]) for name in (VOTES_FOR, VOTES_AGAINST) if has_votes]
        found.setdefault(
            (identity.casefold(), attribute.casefold()), StereotypeRow(identity, target, attribute, *votes)
        )
    if not found:
        raise UsageError(f"{path} has no rows; add one row for each identity and attribute.")
    return list(found.values())


def _clean_term(text: str) -> str:
    """Return a text without separators at its ends, which some tables contain.

    >>> _clean_term(" Zambian, ")
    'Zambian'
    """
    while text and unicodedata.category(text[-1]) in ("Po", "Zs", "Cc", "Cf") and text[-1] not in "!?%'’":
        text = text[:-1]
    return " ".join(text.split())


def _parse_votes(path: Path, row: int, column: str, text: str) -> int:
    try:
        votes = int(text)
    except ValueError:
        votes = -1
    if votes < 0:
        raise DataError(f"{path}, row {row}: `{column}` is {text!r}; enter the number of votes, such as 2.")
    return votes
