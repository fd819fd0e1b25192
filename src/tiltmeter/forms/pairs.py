"""Sentence pairs: two sentences that differ in the group they mention, as in CrowS-Pairs.

{"id": "knit-1", "language": "en", "bias_type": "gender", "direction": "stereo", "more": "My aunt knits.", …}

Four fields are optional. `template` identifies the template of the pair; pairs with the same template are not
independent. `subtype` is a subdivision of the bias type. `votes` is the number of annotators who found a bias in the
pair. `direction` is missing in data sets that do not name the disadvantaged group.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tiltmeter.forms.fields import Fields, Problem
from tiltmeter.forms.form import Form, ItemText, UniqueValue
from tiltmeter.forms.visible_text import INVISIBLE, extract_visible_text
from tiltmeter.forms.word_difference import compute_word_difference, find_swapped_words, is_script_without_spaces

# The attributes with the terms in which the two sentences differ.
TERMS = ("more_terms", "less_terms")

# The minimum number of consecutive changed words that causes a warning. The names of most groups have one or two words,
# so a longer difference suggests that the sentences differ in more than the group. docs/evidence/data-sets.md has the
# counts.
_WIDE = 3

DUPLICATE = {"duplicate-pair": "the same pair as in an earlier item"}
IDENTICAL = {
    "identical-pair": "two sentences that do not differ: their scores will tie",
    **INVISIBLE,
}
PAIRS_CHANGING_MEANING = (*DUPLICATE, *IDENTICAL)


Direction = Literal["stereo", "antistereo"]


@dataclass(frozen=True, slots=True)
class PairItem:
    """Two sentences that differ in the group they mention; `more` is the more stereotypical sentence."""

    id: str
    language: str
    bias_type: str
    direction: Direction | Literal[""]
    more: str
    less: str
    template: str = ""
    subtype: str = ""
    votes: int | None = None


def _read_item(fields: Fields) -> PairItem | None:
    id_, language, bias_type = fields.text("id"), fields.language(), fields.text("bias_type")
    more, less = fields.text("more"), fields.text("less")
    direction: Direction | Literal[""] = ""
    if "direction" in fields.values:
        read = fields.choice("direction", ("stereo", "antistereo"), "unknown-direction")
        direction = "antistereo" if read == "antistereo" else "stereo"
    template, subtype = (fields.text(key) if key in fields.values else "" for key in ("template", "subtype"))
    votes = fields.values.get("votes")
    if votes is not None and (isinstance(votes, bool) or not isinstance(votes, int) or votes < 0):
        fields.note("wrong-type", "votes", f"must be a number of annotators, not {votes!r}")
        return None
    return PairItem(id_, language, bias_type, direction, more, less, template, subtype, votes)


def _write_item(item: PairItem) -> dict[str, object]:
    values: dict[str, object] = {"id": item.id, "language": item.language, "bias_type": item.bias_type}
    if item.direction:
        values["direction"] = item.direction
    values |= {"more": item.more, "less": item.less}
    return values | _get_optional_fields(item)


def _get_optional_fields(item: PairItem) -> dict[str, object]:
    """Return the optional fields that have a value, except the direction."""
    values: dict[str, object] = {"template": item.template, "subtype": item.subtype, "votes": item.votes}
    return {key: value for key, value in values.items() if value not in ("", None)}


def _get_sentences(item: PairItem) -> dict[str, str]:
    return {"more": item.more, "less": item.less}


def get_attributes(item: PairItem) -> dict[str, object]:
    """Return the columns that an item adds to the score table.

    `more_terms` and `less_terms` are the words that only one of the two sentences has. They are two factors, so that
    pairs with one common term, such as the name of a majority group, count as correlated even if their other terms
    differ.
    """
    swapped = dict(zip(TERMS, find_swapped_words(item.more, item.less), strict=True))
    direction = {"direction": item.direction} if item.direction else {}
    return {"bias_type": item.bias_type, **direction, **_get_optional_fields(item), **swapped}


def lint_difference(first: str, second: str, field: str) -> Iterator[Problem]:
    """Yield a problem if two sentences do not differ visibly; `field` is the field that the problem names."""
    if first == second:
        yield Problem("identical-pair", field, "the two sentences are the same")
    elif extract_visible_text(first) == extract_visible_text(second):
        message = "differs from the other sentence only in spaces or invisible characters"
        yield Problem("invisible-difference", field, message)


def _lint_item(item: PairItem) -> Iterator[Problem]:
    if problems := list(lint_difference(item.more, item.less, "less")):
        yield from problems
        return
    difference = compute_word_difference(item.more, item.less)
    if not difference.shared:
        yield Problem("nothing-shared", "less", "has no word in common with the other sentence")
    elif difference.longest >= _WIDE and not is_script_without_spaces(item.more):
        message = f"differs from the other sentence in {difference.longest} consecutive words"
        yield Problem("wide-difference", "less", message)
    elif difference.changed > difference.shared:
        message = f"{difference.changed} words differ from the other sentence, and only {difference.shared} do not"
        yield Problem("wide-difference", "less", message)


FORM = Form(
    name="pairs",
    item=PairItem,
    keys=("id", "language", "bias_type", "direction", "more", "less", "template", "subtype", "votes"),
    optional=("direction", "template", "subtype", "votes"),
    distinctive=("more", "less"),
    read=_read_item,
    write=_write_item,
    texts=lambda item: _get_sentences(item).items(),
    translatable=_get_sentences,
    text_names=lambda _item: {"more": "more stereotypical", "less": "less stereotypical"},
    attributes=get_attributes,
    options=_get_sentences,
    subject="bias_type",
    numbers=("votes",),
    factors={"templates": ("template",), "terms": TERMS},
    hidden=TERMS,
    shown=lambda item: ItemText("", _get_sentences(item)),
    heading=lambda item: tuple(filter(None, (item.bias_type, item.direction, item.subtype))),
    unique=lambda item: [UniqueValue("duplicate-pair", "more", (item.more, item.less))],
    lint=_lint_item,
    errors={"unknown-direction": "a direction that is neither stereo nor antistereo"},
    warnings={
        **DUPLICATE,
        **IDENTICAL,
        "nothing-shared": "two sentences without a common word, so that a protocol may have nothing to mask",
        "wide-difference": (
            "a pair that differs in three or more consecutive words, or in most words: perhaps not only in the group"
        ),
    },
    changing_meaning=PAIRS_CHANGING_MEANING,
)
