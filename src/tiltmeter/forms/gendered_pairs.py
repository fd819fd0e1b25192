"""Gendered pairs: a sentence as said by a man and by a woman, for a stereotype of GEST or another stereotype.

{"id": "s-1", "language": "sk", "stereotype": 4, "male": "Bol som doma.", "female": "Bola som doma.", …}
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tiltmeter.forms.fields import Fields
from tiltmeter.forms.form import Form, ItemText, UniqueValue
from tiltmeter.forms.gest import (
    BAD_STEREOTYPE,
    NAME_ATTRIBUTES,
    OWN_KEYS,
    STEREOTYPE_NAMES,
    compute_sentence_digest,
    format_stereotype_heading,
    get_stereotype_attributes,
    get_stereotype_fields,
    has_family_words,
    list_shared_values,
    read_stereotype_fields,
    read_stereotype_number,
)
from tiltmeter.forms.pairs import DUPLICATE, IDENTICAL, PAIRS_CHANGING_MEANING, lint_difference

NOT_ONE_WORD = "the two sentences do not differ in exactly one word"
OTHER_LETTER = "the two forms of the word begin with different letters"
REPEATED_PAIR = "the pair repeats an earlier one"


@dataclass(frozen=True, slots=True)
class GenderedPairItem:
    """A translation of a GEST sentence, as said by a man and by a woman.

    `original` is the English sentence and `translator` the translation system; empty means unknown. For `side`,
    `stereotype_name` and `sub_stereotype`, see `GestItem`.
    """

    id: str
    language: str
    stereotype: int
    male: str
    female: str
    original: str = ""
    translator: str = ""
    side: str = ""
    stereotype_name: str = ""
    sub_stereotype: str = ""


def find_differing_words(first: str, second: str) -> Iterator[tuple[str, str]]:
    """Return the pairs of words in which two texts with the same number of words differ.

    >>> list(find_differing_words("Som unavený .", "Som unavená ."))
    [('unavený', 'unavená')]
    """
    return ((a, b) for a, b in zip(first.split(), second.split(), strict=True) if a != b)


def find_rejection_reason(male: str, female: str) -> str | None:
    """Return the reason why the filters of GEST's authors reject a pair of sentences; None if they accept it.

    >>> find_rejection_reason("Bol som doma.", "Bola som doma.")
    >>> find_rejection_reason("Som rád.", "Som veľmi rada.")
    'the two sentences do not differ in exactly one word'
    >>> find_rejection_reason("Rád by som spal.", "Chcela by som spal.")
    'the two forms of the word begin with different letters'
    """
    if len(male.split()) != len(female.split()):
        return NOT_ONE_WORD
    words = list(find_differing_words(male, female))
    if len(words) != 1:
        return NOT_ONE_WORD
    ((male_word, female_word),) = words
    return None if male_word[0] == female_word[0] else OTHER_LETTER


def _read_item(fields: Fields) -> GenderedPairItem | None:
    id_, language, male, female = fields.text("id"), fields.language(), fields.text("male"), fields.text("female")
    known = {key: fields.text(key) for key in ("original", "translator") if fields.values.get(key, "") != ""}
    known |= read_stereotype_fields(fields)
    stereotype = read_stereotype_number(fields)
    return None if stereotype is None else GenderedPairItem(id_, language, stereotype, male, female, **known)


def _write_item(item: GenderedPairItem) -> dict[str, object]:
    values: dict[str, object] = {"id": item.id, "language": item.language, "stereotype": item.stereotype}
    values |= get_stereotype_fields(item)
    values |= {key: text for key in ("translator", "original") if (text := getattr(item, key))}
    return values | _get_sentences(item)


def _get_sentences(item: GenderedPairItem) -> dict[str, str]:
    return {"male": item.male, "female": item.female}


def get_attributes(item: GenderedPairItem) -> dict[str, Any]:
    """Return the columns that an item adds to the score table."""
    family = has_family_words(item.original) if item.original else None
    columns = get_stereotype_attributes(item) | {"family_words": family, "translator": item.translator}
    return columns | {"idea": compute_sentence_digest(item.original or item.male)}


FORM = Form(
    name="gendered-pairs",
    item=GenderedPairItem,
    keys=("id", "language", "stereotype", *OWN_KEYS, "translator", "original", "male", "female"),
    optional=(*OWN_KEYS, "translator", "original"),
    distinctive=("male", "female"),
    read=_read_item,
    write=_write_item,
    texts=lambda item: _get_sentences(item).items(),
    # The sentences are translations themselves, so other languages are translated from the English original.
    translatable=lambda item: {"original": item.original} if item.original else {},
    attributes=get_attributes,
    subject="stereotype",
    factors={"ideas": ("idea",)},
    hidden=("idea",),
    value_names=STEREOTYPE_NAMES,
    name_attributes=NAME_ATTRIBUTES,
    shown=lambda item: ItemText(item.original, _get_sentences(item)),
    heading=lambda item: (format_stereotype_heading(item), item.translator),
    unique=lambda item: [UniqueValue("duplicate-pair", "male", (item.male, item.female))],
    same=list_shared_values,
    lint=lambda item: lint_difference(item.male, item.female, "female"),
    errors=BAD_STEREOTYPE,
    warnings={**DUPLICATE, **IDENTICAL},
    changing_meaning=PAIRS_CHANGING_MEANING,
)
