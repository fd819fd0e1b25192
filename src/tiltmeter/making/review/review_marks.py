"""Texts split into marked pieces for display (blanks, target terms, changes), and numbered proposals."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import find_folded
from tiltmeter.making.review.review_views import ReviewItem

# The kind of a mark. "" means no mark. "long" marks an empty piece, which says that the next two pieces were too long
# to be compared word by word.
MarkKind = Literal["", "blank", "target", "removed", "added", "long"]
# The name of the field that has the target term of an item.
_TERM = "target_term"
# Maximum number of proposals for an item, because reviewers choose a proposal with a digit key from 1 to 9.
MOST_PROPOSALS = 9
# Two texts are compared word by word only if the product of their numbers of pieces is at most this number, because the
# time of the comparison may grow with this product.
_MOST_PAIRS = 40_000
# A piece is a word, a sequence of spaces, or a single other character.
_PIECES = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """A piece of a text, and the kind of its mark; the kind of an unmarked piece is empty."""

    text: str
    kind: MarkKind = ""


@dataclass(frozen=True, slots=True)
class NumberedProposal:
    """A proposal for a text of an item, with a number that is unique for the item."""

    number: int
    field: str
    text: str


def mark_text(text: str, term: str = "") -> list[MarkedPiece]:
    """Return the pieces of a text, in which blanks and all occurrences of the target term are marked.

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
    """Return the marked pieces of each text of an item, by field.

    Blanks and occurrences of the target term are marked; in the field of the target term, only blanks are marked.
    """
    term = texts.get(_TERM, "").strip()
    return {field: mark_text(text, "" if field == _TERM else term) for field, text in texts.items()}


def mark_filled_sentences(texts: Mapping[str, str]) -> dict[str, list[MarkedPiece]]:
    """Return the context of an item with each candidate word in place of BLANK, by the field of the word.

    >>> sentences = mark_filled_sentences({"context": "He was BLANK.", "candidates[0].word": "calm"})
    >>> [(piece.text, piece.kind) for piece in sentences["candidates[0].word"]]
    [('He was ', ''), ('calm', 'blank'), ('.', '')]
    """
    before, blank, after = texts.get("context", "").partition(BLANK)
    if not blank:
        return {}
    return {
        field: [MarkedPiece(before), MarkedPiece(text.strip() or BLANK, "blank"), MarkedPiece(after)]
        for field, text in texts.items()
        if field.endswith(".word")
    }


def mark_changes(before: str, after: str) -> list[MarkedPiece]:
    """Compare two versions of a text; return pieces that are unchanged, removed or added.

    If the texts are too long to be compared word by word, everything between the first and the last difference counts
    as changed.

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
    """Return the distinct proposals for the texts of an item, numbered from 1, at most `MOST_PROPOSALS`.

    Proposals that equal the current text are left out.
    """
    proposals = dict.fromkeys(
        (problem.field, text)
        for problem in view.problems
        for text in problem.proposals
        if problem.field in view.texts and text != view.texts[problem.field]
    )
    return [NumberedProposal(number, *one) for number, one in enumerate(list(proposals)[:MOST_PROPOSALS], start=1)]
