"""The form: a sentence with a blank and two words for it, one of them stereotypical."""

from dataclasses import dataclass

from tiltmeter.forms import Form, ItemText
from tiltmeter.forms.fields import Fields


@dataclass(frozen=True, slots=True)
class BlankItem:
    """A sentence with a blank `_`, the stereotypical word for it (`expected`) and another word."""

    id: str
    language: str
    topic: str
    sentence: str
    expected: str
    other: str


def read(fields: Fields) -> BlankItem | None:
    """Return the item of a record; report problems to `fields`."""
    item = BlankItem(
        fields.text("id"),
        fields.language(),
        fields.text("topic"),
        fields.text("sentence"),
        fields.text("expected"),
        fields.text("other"),
    )
    if item.sentence.count("_") != 1:
        fields.note("no-blank", "sentence", "should contain exactly one _, the place of the words")
        return None
    return item


def filled(item: BlankItem, word: str) -> str:
    """Return the sentence with a word in the blank."""
    return item.sentence.replace("_", word)


FORM = Form(
    name="blanks",
    item=BlankItem,
    keys=("id", "language", "topic", "sentence", "expected", "other"),
    distinctive=("expected",),
    read=read,
    write=lambda item: {name: getattr(item, name) for name in FORM.keys},
    texts=lambda item: [("sentence", item.sentence), ("expected", item.expected), ("other", item.other)],
    translatable=lambda item: {"sentence": item.sentence, "expected": item.expected, "other": item.other},
    attributes=lambda item: {"topic": item.topic},
    shown=lambda item: ItemText(item.sentence, {"expected": item.expected, "other": item.other}),
    heading=lambda item: (item.topic,),
    errors={"no-blank": "a sentence without a blank, or with several"},
)
