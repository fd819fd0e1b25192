"""WinoMT: an English sentence about a person, with the noun for the person and the gender that a pronoun shows.

{"id": "1", "language": "en", "gender": "female", "entity": "gardener", "position": 1, "stereotypical": "anti",
 "sentence": "The gardener thanked the florist because she had lost the seeds."}
"""

from dataclasses import dataclass

from tiltmeter.forms.fields import Fields
from tiltmeter.forms.form import Form, ItemText, UniqueValue
from tiltmeter.forms.word_difference import split_words

MALE, FEMALE, NEUTRAL = GENDERS = ("male", "female", "neutral")
_PRONOUNS = frozenset(
    ("he", "him", "his", "himself", "she", "her", "hers", "herself", "they", "them", "their", "theirs", "themselves")
)
PRO, ANTI, NEITHER = STEREOTYPICAL = ("pro", "anti", "none")


@dataclass(frozen=True, slots=True)
class WinoMTItem:
    """A sentence, and its noun `entity` for a person of known gender.

    `position` is the index (from 0) of the noun's first word in the sentence split at spaces. `gender` is neutral if
    the pronoun is *they*. `stereotypical` is `pro` if `gender` is the stereotypical gender of the entity, `anti` if it
    is the opposite gender, and `none` if there is no stereotype.
    """

    id: str
    language: str
    gender: str
    entity: str
    position: int
    sentence: str
    stereotypical: str = NEITHER


def _read_item(fields: Fields) -> WinoMTItem | None:
    id_, language, entity = fields.text("id"), fields.language(), fields.text("entity")
    sentence = fields.text("sentence")
    gender = fields.choice("gender", GENDERS, "unknown-entity-gender")
    given = fields.values.get("stereotypical", NEITHER)
    stereotypical = NEITHER if given == NEITHER else fields.choice("stereotypical", STEREOTYPICAL, "unknown-casting")
    position = fields.values.get("position")
    if not isinstance(position, int) or isinstance(position, bool):
        fields.note("wrong-type", "position", "must be a whole number: the position of the entity, from 0")
        return None
    item = WinoMTItem(id_, language, gender, entity, position, sentence, stereotypical)
    if sentence and entity and not _has_entity_at_position(item):
        fields.note("entity-elsewhere", "position", f"{entity!r} is not word {position} (from 0) of the sentence")
    return item


def _has_entity_at_position(item: WinoMTItem) -> bool:
    after = split_words(" ".join(item.sentence.split()[item.position :])) if item.position >= 0 else []
    entity = [word.lower() for word in split_words(item.entity)]
    return [word.lower() for word in after[: len(entity)]] == entity


def _write_item(item: WinoMTItem) -> dict[str, object]:
    values: dict[str, object] = {"id": item.id, "language": item.language, "gender": item.gender}
    values |= {"entity": item.entity, "position": item.position}
    values |= {} if item.stereotypical == NEITHER else {"stereotypical": item.stereotypical}
    return values | {"sentence": item.sentence}


def _get_attributes(item: WinoMTItem) -> dict[str, str]:
    """Return the columns that an item adds to the score table; `template` is the sentence without its pronouns."""
    template = " ".join(word for word in split_words(item.sentence.lower()) if word not in _PRONOUNS)
    return {"gender": item.gender, "entity": item.entity, "stereotypical": item.stereotypical, "template": template}


FORM = Form(
    name="winomt",
    item=WinoMTItem,
    keys=("id", "language", "gender", "entity", "position", "stereotypical", "sentence"),
    optional=("stereotypical",),
    distinctive=("entity",),
    read=_read_item,
    write=_write_item,
    texts=lambda item: [("sentence", item.sentence)],
    # An item cannot be translated: its pronouns are English, so a translated item would test something else.
    translatable=lambda _item: {},
    attributes=_get_attributes,
    factors={"nouns": ("entity",), "templates": ("template",)},
    hidden=("template",),
    subject="entity",
    value_names={"stereotypical": {PRO: "pro-stereotypical", ANTI: "anti-stereotypical", NEITHER: "no stereotype"}},
    shown=lambda item: ItemText(item.sentence, {}),
    heading=lambda item: (f"{item.entity} ({item.gender})",),
    unique=lambda item: [UniqueValue("repeated-sentence", "sentence", (item.sentence, item.entity))],
    errors={
        "entity-elsewhere": "an entity that is not at its position in the sentence",
        "unknown-casting": "a value of `stereotypical` that is not pro, anti or none",
        "unknown-entity-gender": "an entity's gender that is not male, female or neutral",
    },
    warnings={"repeated-sentence": "the same sentence and entity as in an earlier item"},
    changing_meaning=("repeated-sentence",),
)
