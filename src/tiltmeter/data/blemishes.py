"""Blemishes: what is wrong with an item that can be used all the same."""

import re
import unicodedata
from collections.abc import Iterator

from tiltmeter.data.blank import fill
from tiltmeter.data.difference import difference, is_unspaced
from tiltmeter.data.items import BLANK, AssociationItem, GestItem, GestPairItem, Item, PairItem, WinoBiasItem
from tiltmeter.data.records import Problem

_JOINT = "['’-]?"
_ATTACHED = re.compile(rf"\w+{_JOINT}{BLANK}|{BLANK}{_JOINT}\w+")
_ODD_SPACE = re.compile(r"\s\s|[^\S ]")
# A group is mostly named in one word or two: what differs in more of them may well differ in more than the group.
_LONG = 3
# Two invisible characters that Persian, Hindi and others spell with.
_JOINERS = "\u200c\u200d"


def blemishes(item: Item) -> Iterator[Problem]:
    """What can be seen of an item alone."""
    for field, text in _texts(item):
        yield from _of_text(field, text)
    if isinstance(item, AssociationItem):
        yield from _of_association(item)
    elif isinstance(item, PairItem):
        yield from _of_pair(item)
    elif isinstance(item, GestPairItem | WinoBiasItem) and item.male == item.female:
        yield Problem("identical-pair", "female", "the two sentences are the same")


def _texts(item: Item) -> Iterator[tuple[str, str]]:
    match item:
        case AssociationItem():
            yield "target_term", item.target_term
            yield "context", item.context
            for number, candidate in enumerate(item.candidates):
                yield f"candidates[{number}].sentence", candidate.sentence
                if candidate.word:
                    yield f"candidates[{number}].word", candidate.word
        case PairItem():
            yield "more", item.more
            yield "less", item.less
        case GestItem():
            yield "sentence", item.sentence
        case GestPairItem() | WinoBiasItem():
            yield "male", item.male
            yield "female", item.female


def _of_text(field: str, text: str) -> Iterator[Problem]:
    if text != text.strip():
        yield Problem("outer-space", field, "there is space before or after the text")
    if text.isprintable() and "  " not in text:
        return  # Nearly all texts, and looking closer takes its time.
    if odd := _ODD_SPACE.search(text.strip()):
        yield Problem("odd-space", field, f"holds the space {_code_points(odd[0])}")
    invisible = [c for c in text if unicodedata.category(c)[0] == "C" and c not in _JOINERS and not c.isspace()]
    if invisible:
        yield Problem("control-character", field, f"holds {_code_points(invisible[0])}")


def _code_points(text: str) -> str:
    return " ".join(f"U+{ord(character):04X}" for character in text)


def _of_pair(item: PairItem) -> Iterator[Problem]:
    if item.more == item.less:
        yield Problem("identical-pair", "less", "the two sentences are the same")
        return
    found = difference(item.more, item.less)
    if not found.shared:
        yield Problem("nothing-shared", "less", "has no word in common with the other sentence")
    elif found.longest >= _LONG and not is_unspaced(item.more):
        yield Problem("wide-difference", "less", f"differs from the other sentence in {found.longest} words in a row")
    elif found.changed > found.shared:
        yield Problem("wide-difference", "less", f"{found.changed} words are changed, and {found.shared} are not")


def _of_association(item: AssociationItem) -> Iterator[Problem]:
    if item.target_term.casefold() not in item.context.casefold():
        yield Problem("target-not-in-context", "context", f"the target term {item.target_term!r} does not occur")
    if item.part == "intrasentence":
        yield from _of_blanks(item)
    elif BLANK in item.context:
        yield Problem("blank-in-sentence", "context", f"holds {BLANK}")
    texts: set[str] = set()
    for number, candidate in enumerate(item.candidates):
        place = f"candidates[{number}]"
        if BLANK in candidate.sentence:
            yield Problem("blank-in-sentence", f"{place}.sentence", f"holds {BLANK}")
        text = candidate.word or candidate.sentence
        if text in texts:
            field = f"{place}.word" if candidate.word else f"{place}.sentence"
            yield Problem("identical-candidates", field, "another candidate has the same text")
        texts.add(text)


def _of_blanks(item: AssociationItem) -> Iterator[Problem]:
    if item.context.count(BLANK) > 1:
        yield Problem("several-blanks", "context", f"holds {BLANK} {item.context.count(BLANK)} times")
    if attached := _ATTACHED.search(item.context):
        yield Problem("attached-blank", "context", f"{BLANK} has letters attached to it: {attached[0]!r}")
    for number, candidate in enumerate(item.candidates):
        filled, field = fill(item.context, candidate.word), f"candidates[{number}].sentence"
        if candidate.sentence == filled:
            continue
        if candidate.sentence.casefold() == filled.casefold():
            yield Problem("sentence-case", field, "has other capitals than the context with the word filled in")
        else:
            yield Problem("sentence-differs", field, "is not the context with the word filled in")
