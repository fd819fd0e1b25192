"""Texts in marked pieces, for a page: the blank and the target term, and what changed; and numbered proposals."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import find_folded
from tiltmeter.making.review.review_views import ReviewItem

# long: no piece of a text, but says that what follows was not compared word by word.
MarkKind = Literal["", "blank", "target", "removed", "added", "long"]
# The field of the target term in items that have one.
_TERM = "target_term"
# Proposals have keys of their own.
MOST_PROPOSALS = 9
# Texts are compared word by word if there are at most so many pairs of pieces; the time may grow with its square.
_MOST_PAIRS = 40_000
# Words, spaces and single other characters, so that a difference is one of words.
_PIECES = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """A piece of a text, and what it is; the pieces together are the text."""

    text: str
    kind: MarkKind = ""


@dataclass(frozen=True, slots=True)
class NumberedProposal:
    """A proposal for a text of an item, with a number that no other proposal for the item has."""

    number: int
    field: str
    text: str


def mark_text(text: str, term: str = "") -> list[MarkedPiece]:
    """A text with its blanks and all occurrences of the target term.

    >>> [(piece.text, piece.kind) for piece in mark_text("The cook was BLANK.", "Cook")]
    [('The ', ''), ('cook', 'target'), (' was ', ''), ('BLANK', 'blank'), ('.', '')]
    """
    pieces: list[MarkedPiece] = []
    for number, part in enumerate(text.split(BLANK)):
        if number:
            pieces.append(MarkedPiece(BLANK, "blank"))
        while term and (found := find_folded(part, term)):
            start, end = found
            pieces += [MarkedPiece(part[:start]), MarkedPiece(part[start:end], "target")]
            part = part[end:]
        pieces.append(MarkedPiece(part))
    return [piece for piece in pieces if piece.text]


def mark_texts(texts: Mapping[str, str]) -> dict[str, list[MarkedPiece]]:
    """The texts of an item with blanks and target term marked; in the term itself nothing is."""
    term = texts.get(_TERM, "").strip()
    return {field: mark_text(text, "" if field == _TERM else term) for field, text in texts.items()}


def mark_changes(before: str, after: str) -> list[MarkedPiece]:
    """Two texts as one, with what was removed and what was added.

    Between the first and the last difference of long texts, everything counts as changed.

    >>> [(piece.text, piece.kind) for piece in mark_changes("He was very shy.", "She was shy.")]
    [('He', 'removed'), ('She', 'added'), (' was', ''), (' very', 'removed'), (' shy.', '')]
    """
    old, new = _PIECES.findall(before), _PIECES.findall(after)
    shorter = min(len(old), len(new))
    start = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    end = next((place for place in range(shorter - start) if old[-1 - place] != new[-1 - place]), shorter - start)
    between = old[start : len(old) - end], new[start : len(new) - end]
    pieces = [
        MarkedPiece("".join(old[:start])),
        *_mark_differences(*between),
        MarkedPiece("".join(old[len(old) - end :])),
    ]
    return _join_pieces(piece for piece in pieces if piece.text or piece.kind == "long")


def _join_pieces(pieces: Iterable[MarkedPiece]) -> list[MarkedPiece]:
    """Pieces, those of one kind that follow each other as one."""
    joined: list[MarkedPiece] = []
    for piece in pieces:
        if joined and joined[-1].kind == piece.kind:
            joined[-1] = MarkedPiece(joined[-1].text + piece.text, piece.kind)
        else:
            joined.append(piece)
    return joined


def _mark_differences(old: list[str], new: list[str]) -> Iterator[MarkedPiece]:
    if old and new and len(old) * len(new) > _MOST_PAIRS:
        yield from (MarkedPiece("", "long"), MarkedPiece("".join(old), "removed"), MarkedPiece("".join(new), "added"))
        return
    for action, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if action == "equal":
            yield MarkedPiece("".join(old[start:end]))
        else:
            yield MarkedPiece("".join(old[start:end]), "removed")
            yield MarkedPiece("".join(new[new_start:new_end]), "added")


def number_proposals(view: ReviewItem) -> list[NumberedProposal]:
    """The proposals for all texts of an item, numbered together; each once, and none that the item has already."""
    found = dict.fromkeys(
        (problem.field, text)
        for problem in view.problems
        for text in problem.proposals
        if problem.field in view.texts and text != view.texts[problem.field]
    )
    return [NumberedProposal(number, *one) for number, one in enumerate(list(found)[:MOST_PROPOSALS], start=1)]
