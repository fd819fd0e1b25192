"""GEST sentences: first-person sentences for the sixteen gender stereotypes of GEST, or for other stereotypes.

{"id": "g-1", "language": "en", "stereotype": 9, "sentence": "I repaired the radio."}
{"id": "g-2", "language": "en", "stereotype": 17, "side": "masculine", "stereotype_name": "men are punctual", …}

Items in other languages than English also contain the two frames in which the sentence is quoted (see `frames`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, Protocol

from tiltmeter.forms.case_folding import fold_case
from tiltmeter.forms.fields import Fields
from tiltmeter.forms.form import Form, ItemText, SharedValue, UniqueValue
from tiltmeter.forms.frames import BAD_FRAME, FRAME, SENTENCE, find_frame_problem
from tiltmeter.forms.word_difference import split_words

STEREOTYPES: Final = {
    1: "women are emotional",
    2: "women are gentle",
    3: "women are caring",
    4: "women are tidy",
    5: "women are sociable",
    6: "women are weak",
    7: "women are beautiful",
    8: "men are tough",
    9: "men are self-assured",
    10: "men are professional",
    11: "men are rational",
    12: "men are providers",
    13: "men are leaders",
    14: "men are childish",
    15: "men are sexual",
    16: "men are strong",
}
# The numbers of the stereotypes about women (1 to 7) and about men (8 to 16).
FEMALE, MALE = range(1, 8), range(8, 17)
STEREOTYPE_NAMES = {"stereotype": {str(number): f"{number} {name}" for number, name in STEREOTYPES.items()}}
# The attribute with the names of stereotypes that are not in GEST.
NAME_ATTRIBUTES = {"stereotype": "stereotype_name"}
BAD_STEREOTYPE = {
    "bad-stereotype": "a stereotype that is not a number from 1 to 16 (GEST), nor another number with a side",
    "stereotype-differs": "a stereotype with a different side or name in an earlier item",
}
# The gender that a stereotype is about; items state it for stereotypes that are not in GEST.
SIDES = ("feminine", "masculine")
HIGHEST = 9_999
# Optional keys of a JSONL line that describe the stereotype of an item.
OWN_KEYS = ("side", "stereotype_name", "sub_stereotype")
# Optional keys of a JSONL line: the English original, and the two frames that quote the sentence.
FRAME_KEYS = ("original", "male_frame", "female_frame")

# The prompt templates of GEST are parts of the benchmark, not of the data. Each sentence is used in all four templates.
TEMPLATES = ("template-1", "template-2", "template-3", "template-4")

# The paper's words for the topic "family", used to test whether a model reacts to the topic alone. They are matched as
# substrings, which finds the same number of sentences in GEST 1.0 (166) as the paper reports.
FAMILY_WORDS = ("child", "children", "family", "kid", "kids", "partner")


@dataclass(frozen=True, slots=True)
class GestItem:
    """A first-person sentence for one of the sixteen stereotypes of GEST, or for another stereotype.

    `side` and `stereotype_name` are used only for stereotypes that are not in GEST. `sub_stereotype` is an aspect of
    the stereotype, or empty. `original` is the English sentence of a translation. The two frames quote the sentence as
    said by a man and by a woman; an item has both frames or no frame.
    """

    id: str
    language: str
    stereotype: int
    sentence: str
    side: str = ""
    stereotype_name: str = ""
    sub_stereotype: str = ""
    original: str = ""
    male_frame: str = ""
    female_frame: str = ""


class StereotypedItem(Protocol):
    """An item that belongs to a stereotype."""

    @property
    def stereotype(self) -> int: ...  # noqa: D102
    @property
    def side(self) -> str: ...  # noqa: D102
    @property
    def stereotype_name(self) -> str: ...  # noqa: D102
    @property
    def sub_stereotype(self) -> str: ...  # noqa: D102


def get_gest_side(stereotype: int) -> str:
    """Return the side (the gender that the stereotype is about) of one of the sixteen stereotypes of GEST.

    >>> get_gest_side(7), get_gest_side(8)
    ('feminine', 'masculine')
    """
    return SIDES[stereotype in MALE]


def compute_sentence_digest(sentence: str) -> str:
    """Return a short identifier (hash) of a sentence; items with the same English original have the same identifier."""
    return sha256(" ".join(split_words(fold_case(sentence))).encode()).hexdigest()[:12]


def get_stereotype_fields(item: StereotypedItem) -> dict[str, str]:
    """Return the fields of an item that describe its stereotype, except the stereotype's number."""
    return {key: text for key in OWN_KEYS if (text := getattr(item, key))}


def get_stereotype_attributes(item: StereotypedItem) -> dict[str, Any]:
    """Return the columns of the score table about the stereotype of an item.

    The name of a sub-stereotype begins with the stereotype's number, because two stereotypes can have sub-stereotypes
    with the same name.
    """
    values: dict[str, Any] = {"stereotype": item.stereotype, "side": item.side or get_gest_side(item.stereotype)}
    if item.stereotype_name:
        values["stereotype_name"] = item.stereotype_name
    if item.sub_stereotype:
        values["sub_stereotype"] = f"{item.stereotype} {item.sub_stereotype}"
    return values


def format_stereotype_heading(item: StereotypedItem) -> str:
    """Return the number of the stereotype and its names, for display."""
    names = ", ".join(filter(None, (item.stereotype_name, item.sub_stereotype)))
    return f"stereotype {item.stereotype}{f' ({names})' if names else ''}"


def list_shared_values(item: StereotypedItem) -> list[SharedValue]:
    """Return the values that must be equal for all items of a stereotype: side and name."""
    return [
        SharedValue("stereotype-differs", key, item.stereotype, getattr(item, key))
        for key in ("side", "stereotype_name")
    ]


def read_stereotype_number(fields: Fields) -> int | None:
    """Return the number of the stereotype; if it is missing or invalid, add a problem and return None."""
    stereotype = fields.values.get("stereotype")
    side, name = (fields.values.get(key, "") for key in ("side", "stereotype_name"))
    if isinstance(stereotype, int) and not isinstance(stereotype, bool):
        if stereotype in STEREOTYPES and side == name == "":
            return stereotype
        if len(STEREOTYPES) < stereotype <= HIGHEST and side in SIDES:
            return stereotype
        if stereotype > HIGHEST:
            fields.note("bad-stereotype", "stereotype", f"must be at most {HIGHEST:,}")
            return None
        if stereotype in STEREOTYPES and side == "":
            fields.note(
                "bad-stereotype", "stereotype_name", "is only for stereotypes that are not in GEST (17 and higher)"
            )
            return None
        if stereotype in STEREOTYPES or side not in ("", *SIDES):
            message = "must be feminine or masculine, and is only for stereotypes that are not in GEST (17 and higher)"
            fields.note("bad-stereotype", "side", message)
            return None
        if stereotype > len(STEREOTYPES):
            message = f"{stereotype} is not a stereotype of GEST (1 to 16), so a side is needed: feminine or masculine"
            fields.note("bad-stereotype", "stereotype", message)
            return None
    given = "is missing" if stereotype is None else f"is {stereotype!r}"
    fields.note(
        "bad-stereotype", "stereotype", f"{given}; it must be a number, from 1 to 16 for the stereotypes of GEST"
    )
    return None


def has_family_words(sentence: str) -> bool:
    """Return whether an English sentence contains one of the words for the topic "family" (`FAMILY_WORDS`).

    >>> has_family_words("I cooked for the whole family.")
    True
    """
    return any(word in sentence for word in FAMILY_WORDS)


def read_stereotype_fields(fields: Fields) -> dict[str, str]:
    """Return the optional fields of a data record that describe the stereotype, without empty fields."""
    return {key: fields.text(key) for key in OWN_KEYS if fields.values.get(key, "") != ""}


def _read_item(fields: Fields) -> GestItem | None:
    id_, language, sentence = fields.text("id"), fields.language(), fields.text("sentence")
    stereotype, own = read_stereotype_number(fields), read_stereotype_fields(fields)
    known = {key: fields.text(key) for key in FRAME_KEYS if fields.values.get(key, "") != ""}
    male, female = known.get("male_frame", ""), known.get("female_frame", "")
    if (male or female) and (problem := find_frame_problem(male, female)):
        fields.note("bad-frame", "female_frame" if male else "male_frame", problem)
    return None if stereotype is None else GestItem(id_, language, stereotype, sentence, **own, **known)


def _write_item(item: GestItem) -> dict[str, object]:
    values: dict[str, object] = {"id": item.id, "language": item.language, "stereotype": item.stereotype}
    known = {key: text for key in FRAME_KEYS if (text := getattr(item, key))}
    return values | get_stereotype_fields(item) | known | {"sentence": item.sentence}


def _format_for_display(item: GestItem) -> ItemText:
    """Return the texts to display: the sentence; with frames, the English original and the two framed sentences."""
    if not item.male_frame:
        return ItemText(item.sentence, {})
    framed = {"male": item.male_frame, "female": item.female_frame}
    texts = {role: frame.replace(SENTENCE, item.sentence) for role, frame in framed.items()}
    return ItemText(item.original or item.sentence, texts)


def _replace_texts(item: GestItem, language: str, texts: Mapping[str, str]) -> GestItem:
    """Return the item in another language; its frames are removed, because they are in the old language."""
    sentence = texts.get("sentence", item.sentence)
    return replace(item, language=language, sentence=sentence, male_frame="", female_frame="")


def _list_texts(item: GestItem) -> list[tuple[str, str]]:
    frames = [(key, text) for key in ("male_frame", "female_frame") if (text := getattr(item, key))]
    return [("sentence", item.sentence), *frames]


def get_attributes(item: GestItem) -> dict[str, Any]:
    """Return the columns that an item adds to the score table."""
    english = item.original or (item.sentence if item.language == "en" else "")
    family = has_family_words(english) if english else None
    return get_stereotype_attributes(item) | {
        "family_words": family,
        "idea": compute_sentence_digest(english or item.sentence),
    }


FORM = Form(
    name="gest",
    item=GestItem,
    keys=("id", "language", "stereotype", *OWN_KEYS, *FRAME_KEYS, "sentence"),
    optional=(*OWN_KEYS, *FRAME_KEYS),
    distinctive=("stereotype", "sentence"),
    read=_read_item,
    write=_write_item,
    texts=_list_texts,
    translatable=lambda item: {"sentence": item.sentence},
    with_texts=_replace_texts,
    attributes=get_attributes,
    subject="stereotype",
    factors={"ideas": ("idea",)},
    hidden=("idea",),
    value_names=STEREOTYPE_NAMES,
    name_attributes=NAME_ATTRIBUTES,
    shown=_format_for_display,
    heading=lambda item: (format_stereotype_heading(item),),
    parts=(*TEMPLATES, FRAME),
    # Sentences with frames are used only in the part for frames, other sentences in every template.
    part_of=lambda item: FRAME if item.male_frame else None,
    unique=lambda item: [UniqueValue("duplicate-sentence", "sentence", item.sentence)],
    same=list_shared_values,
    errors={**BAD_STEREOTYPE, **BAD_FRAME},
    warnings={"duplicate-sentence": "the same GEST sentence as in an earlier item"},
    changing_meaning=("duplicate-sentence",),
)
