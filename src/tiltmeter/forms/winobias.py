"""WinoBias sentences: two occupations and a pronoun for one of them, in a masculine and a feminine version.

{"id": "w-1", "part": "type1-dev", "language": "en", "occupation": "gardener", "gender": "male",
 "male": "The gardener lost his hat.", "female": "The gardener lost her hat."}
"""

from dataclasses import dataclass
from typing import Literal

from tiltmeter.forms.fields import Fields
from tiltmeter.forms.form import Form, ItemText, UniqueValue
from tiltmeter.forms.pairs import DUPLICATE, IDENTICAL, PAIRS_CHANGING_MEANING, lint_difference
from tiltmeter.forms.word_difference import find_shared_start

PARTS = ("type1-dev", "type1-test", "type2-dev", "type2-test")


@dataclass(frozen=True, slots=True)
class WinoBiasItem:
    """A sentence about two occupations, with masculine and with feminine pronouns.

    `occupation` is the occupation that the pronouns refer to; `gender` is its stereotypical gender.
    """

    id: str
    part: str
    language: str
    occupation: str
    gender: Literal["male", "female"]
    male: str
    female: str


def _read_item(fields: Fields) -> WinoBiasItem | None:
    id_, language, occupation = fields.text("id"), fields.language(), fields.text("occupation")
    male, female = fields.text("male"), fields.text("female")
    part = fields.choice("part", PARTS, "unknown-part")
    gender = fields.choice("gender", ("male", "female"), "unknown-gender")
    if not gender:
        return None
    return WinoBiasItem(id_, part, language, occupation, "male" if gender == "male" else "female", male, female)


def _write_item(item: WinoBiasItem) -> dict[str, object]:
    values: dict[str, object] = {"id": item.id, "part": item.part, "language": item.language}
    return values | {"occupation": item.occupation, "gender": item.gender} | _get_sentences(item)


def _get_sentences(item: WinoBiasItem) -> dict[str, str]:
    return {"male": item.male, "female": item.female}


def get_attributes(item: WinoBiasItem) -> dict[str, str]:
    """Return the columns that an item adds to the score table; `template` are the words before the pronoun."""
    template = find_shared_start(item.male, item.female)
    return {"occupation": item.occupation, "occupation_gender": item.gender, "template": template}


FORM = Form(
    name="winobias",
    item=WinoBiasItem,
    keys=("id", "part", "language", "occupation", "gender", "male", "female"),
    distinctive=("occupation",),
    read=_read_item,
    write=_write_item,
    texts=lambda item: _get_sentences(item).items(),
    translatable=_get_sentences,
    attributes=get_attributes,
    factors={"occupations": ("occupation",), "templates": ("template",)},
    hidden=("template",),
    subject="occupation",
    shown=lambda item: ItemText("", _get_sentences(item)),
    heading=lambda item: (f"{item.occupation} ({item.gender})",),
    parts=PARTS,
    part_of=lambda item: item.part,
    unique=lambda item: [UniqueValue("duplicate-pair", "male", (item.male, item.female))],
    lint=lambda item: lint_difference(item.male, item.female, "female"),
    errors={"unknown-gender": "an occupation's gender that is neither male nor female"},
    warnings={**DUPLICATE, **IDENTICAL},
    changing_meaning=PAIRS_CHANGING_MEANING,
)
