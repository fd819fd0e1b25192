"""Sentence pairs: two sentences that differ in the group they mention, as in CrowS-Pairs.

{"id": "knit-1", "language": "en", "bias_type": "gender", "direction": "stereo", "more": "My aunt knits.", …}

Pairs made from templates name theirs in `template`: pairs of one template are not independent of each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tiltmeter.forms.fields import Fields, Problem
from tiltmeter.forms.form import Form, ItemText, Unique
from tiltmeter.forms.word_difference import is_unspaced, word_difference

# Consecutive changed words from which a pair gets a warning. A group is mostly named by one or two words, so a longer
# difference suggests that the sentences differ in more than the group. Chosen by hand; docs/data.md has the counts.
_WIDE = 3

DUPLICATE = {"duplicate-pair": "a pair that an earlier item has too"}
IDENTICAL = {"identical-pair": "two sentences that do not differ: their scores will tie"}


@dataclass(frozen=True, slots=True)
class PairItem:
    """Two sentences that differ in the group they mention; `more` is the more stereotypical one."""

    id: str
    language: str
    bias_type: str
    direction: Literal["stereo", "antistereo"]
    more: str
    less: str
    template: str = ""


def _read(fields: Fields) -> PairItem | None:
    id_, language, bias_type = fields.text("id"), fields.language(), fields.text("bias_type")
    more, less = fields.text("more"), fields.text("less")
    direction = fields.choice("direction", ("stereo", "antistereo"), "unknown-direction")
    template = fields.text("template") if "template" in fields.values else ""
    if not direction:
        return None
    return PairItem(id_, language, bias_type, "stereo" if direction == "stereo" else "antistereo", more, less, template)


def _write(item: PairItem) -> dict[str, object]:
    values: dict[str, object] = {"id": item.id, "language": item.language, "bias_type": item.bias_type}
    values |= {"direction": item.direction, "more": item.more, "less": item.less}
    return values | {"template": item.template} if item.template else values


def _sentences(item: PairItem) -> dict[str, str]:
    return {"more": item.more, "less": item.less}


def attributes(item: PairItem) -> dict[str, str]:
    """Columns that an item adds to the score table."""
    columns = {"bias_type": item.bias_type, "direction": item.direction}
    return columns | {"template": item.template} if item.template else columns


def _lint(item: PairItem) -> Iterator[Problem]:
    if item.more == item.less:
        yield Problem("identical-pair", "less", "the two sentences are the same")
        return
    difference = word_difference(item.more, item.less)
    if not difference.shared:
        yield Problem("nothing-shared", "less", "has no word in common with the other sentence")
    elif difference.longest >= _WIDE and not is_unspaced(item.more):
        message = f"differs from the other sentence in {difference.longest} words in a row"
        yield Problem("wide-difference", "less", message)
    elif difference.changed > difference.shared:
        message = f"{difference.changed} words are changed, and {difference.shared} are not"
        yield Problem("wide-difference", "less", message)


FORM = Form(
    name="pairs",
    item=PairItem,
    keys=("id", "language", "bias_type", "direction", "more", "less", "template"),
    optional=("template",),
    distinctive=("more", "less"),
    read=_read,
    write=_write,
    texts=lambda item: _sentences(item).items(),
    translatable=_sentences,
    text_names=lambda _item: {"more": "more stereotypical", "less": "less stereotypical"},
    attributes=attributes,
    subject="bias_type",
    shown=lambda item: ItemText("", _sentences(item)),
    heading=lambda item: (item.bias_type, item.direction),
    unique=lambda item: [Unique("duplicate-pair", "more", (item.more, item.less))],
    lint=_lint,
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
