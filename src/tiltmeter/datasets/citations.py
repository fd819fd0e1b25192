"""The citations of data sets as publications with authors, title, venue and year.

A citation has the form `First Author, Second Author: Title (Venue Year)`. Several publications are separated by
semicolons.
"""

import re
from dataclasses import dataclass

_PUBLICATION = re.compile(
    r"(?P<authors>[^:;()]+): (?P<title>.+) \((?P<venue>.*?) ?(?P<year>\d{4})(?:, arXiv:(?P<arxiv>[\d.]+))?\)"
)


@dataclass(frozen=True, slots=True)
class Publication:
    """A publication; `venue` and `arxiv` are empty if the citation does not have them."""

    authors: tuple[str, ...]
    title: str
    year: int
    venue: str = ""
    arxiv: str = ""


def parse_citation(citation: str) -> list[Publication]:
    """Return the publications in a citation; the list is empty if the citation has another form.

    >>> (publication,) = parse_citation("Ann One, Bo Two: A Title: With More (Findings of ACL 2022)")
    >>> publication.authors, publication.title, publication.venue, publication.year
    (('Ann One', 'Bo Two'), 'A Title: With More', 'Findings of ACL', 2022)
    >>> parse_citation("Ann One: A Title (2025, arXiv:2507.00001)")[0].arxiv
    '2507.00001'
    >>> parse_citation("Somebody 2020")
    []
    """
    matches = [_PUBLICATION.fullmatch(text.strip()) for text in re.split(r"(?<=\)); ", citation)]
    return [
        Publication(
            tuple(match["authors"].split(", ")),
            match["title"],
            int(match["year"]),
            match["venue"],
            match["arxiv"] or "",
        )
        for match in matches
        if match is not None
    ]
