"""Sentence pairs: two sentences that differ in the group they speak of, as in CrowS-Pairs.

{"id": "knit-1", "language": "en", "bias_type": "gender", "direction": "stereo", "more": "My aunt knits.", …}
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tiltmeter.forms.fields import Fields, Problem
from tiltmeter.forms.form import Form, ItemText, Unique
from tiltmeter.forms.word_difference import is_unspaced, word_difference

# A group is mostly named in one word or two: what differs in more of them may well differ in more than the group.
_LONG = 3

DUPLICATE = {"duplicate-pair": "a pair that an earlier item has too"}
IDENTICAL = {"identical-pair": "two sentences that do not differ: their scores will tie"}


@dataclass(frozen=True, slots=True)
class PairItem:
    """Two sentences that differ in the group they speak of; `more` is the more stereotypical one."""

    id: str
    language: str
    bias_type: str
    direction: Literal["stereo", "antistereo"]
    more: str
    less: str


def _read(fields: Fields) -> PairItem | None:
    id_, language, bias_type = fields.text("id"), fields.language(), fields.text("bias_type")
    more, less = fields.text("more"), fields.text("less")
    direction = fields.choice("direction", ("stereo", "antistereo"), "unknown-direction")
    if not direction:
        return None
    return PairItem(id_, language, bias_type, "stereo" if direction == "stereo" else "antistereo", more, less)


def _write(item: PairItem) -> dict[str, object]:
    values: dict[str, object] = {"id": item.id, "language": item.language, "bias_type": item.bias_type}
    return values | {"direction": item.direction, "more": item.more, "less": item.less}


def _sentences(item: PairItem) -> dict[str, str]:
    return {"more": item.more, "less": item.less}


def attributes(item: PairItem) -> dict[str, str]:
    """The columns that an item adds to the table of scores."""
    return {"bias_type": item.bias_type, "direction": item.direction}


def _blemishes(item: PairItem) -> Iterator[Problem]:
    if item.more == item.less:
        yield Problem("identical-pair", "less", "the two sentences are the same")
        return
    found = word_difference(item.more, item.less)
    if not found.shared:
        yield Problem("nothing-shared", "less", "has no word in common with the other sentence")
    elif found.longest >= _LONG and not is_unspaced(item.more):
        yield Problem("wide-difference", "less", f"differs from the other sentence in {found.longest} words in a row")
    elif found.changed > found.shared:
        yield Problem("wide-difference", "less", f"{found.changed} words are changed, and {found.shared} are not")


FORM = Form(
    name="pairs",
    item=PairItem,
    keys=("id", "language", "bias_type", "direction", "more", "less"),
    telling=("more", "less"),
    read=_read,
    write=_write,
    texts=lambda item: _sentences(item).items(),
    translatable=_sentences,
    attributes=attributes,
    shown=lambda item: ItemText("", _sentences(item)),
    heading=lambda item: (item.bias_type, item.direction),
    unique=lambda item: [Unique("duplicate-pair", "more", (item.more, item.less))],
    blemishes=_blemishes,
    errors={"unknown-direction": "a direction that is neither stereo nor antistereo"},
    warnings={
        **DUPLICATE,
        **IDENTICAL,
        "nothing-shared": "two sentences without a word in common, so that a protocol may find nothing to mask",
        "wide-difference": (
            "a pair that differs in three words or more in a row, or in most words: not in the group alone?"
        ),
    },
)
