"""The form: a sentence about an occupation with a blank for a pronoun, and the percentage of women in it."""

from dataclasses import dataclass

from tiltmeter.forms import Form, ItemText
from tiltmeter.forms.fields import Fields


@dataclass(frozen=True, slots=True)
class OccupationItem:
    """A sentence with a blank `_` for a pronoun, and the percentage of women in the occupation."""

    id: str
    language: str
    occupation: str
    percent_women: int
    sentence: str


def read(fields: Fields) -> OccupationItem | None:
    """Return the item of a record; report problems to `fields`."""
    percentage = fields.text("percent_women")
    if not percentage.isdecimal() or int(percentage) > 100:
        fields.note("no-percentage", "percent_women", "should be a whole number from 0 to 100")
        return None
    texts = fields.text("occupation"), int(percentage), fields.text("sentence")
    return OccupationItem(fields.text("id"), fields.language(), *texts)


def fill_blank(item: OccupationItem, pronoun: str) -> str:
    """Return the sentence with a pronoun in the blank."""
    return item.sentence.replace("_", pronoun)


FORM = Form(
    name="occupations",
    item=OccupationItem,
    keys=("id", "language", "occupation", "percent_women", "sentence"),
    distinctive=("percent_women",),
    read=read,
    write=lambda item: {name: getattr(item, name) for name in FORM.keys} | {"percent_women": str(item.percent_women)},
    texts=lambda item: [("sentence", item.sentence)],
    translatable=lambda item: {"sentence": item.sentence},
    attributes=lambda item: {"occupation": item.occupation, "percent_women": item.percent_women},
    subject="occupation",
    numbers=("percent_women",),
    shown=lambda item: ItemText("", {"she": fill_blank(item, "she"), "he": fill_blank(item, "he")}),
    heading=lambda item: (item.occupation,),
    errors={"no-percentage": "a percentage that is not a whole number from 0 to 100"},
)
