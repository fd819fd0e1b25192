"""MT-GenEval: an English source about a person of known gender, with a correct and an incorrect reference.

{"id": "sentences/1/feminine", "part": "sentences", "language": "es", "gender": "feminine", "pair": "1",
 "source": "She is a gardener.", "correct": "Ella es jardinera.", "incorrect": "Él es jardinero."}
{"id": "context/1", "part": "context", "language": "es", "gender": "masculine",
 "context": "He likes roses.", "source": "Kim is a gardener.", "correct": "Kim es jardinero.", …}
"""

import string
from dataclasses import dataclass
from typing import Any

from tiltmeter.forms.fields import Fields, Problem
from tiltmeter.forms.form import Form, ItemText, UniqueValue

SENTENCES, CONTEXT = PARTS = ("sentences", "context")
MASCULINE, FEMININE, UNKNOWN = GENDERS = ("masculine", "feminine", "unknown")

# As in the published metric, only ASCII punctuation is removed, so ¿ and « remain parts of words.
_WITHOUT_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


@dataclass(frozen=True, slots=True)
class GenevalItem:
    """A source text and two references in `language` that differ in the gender of the person.

    `gender` is the gender of the person; `correct` is the reference with this gender. Only items of the part `context`
    have a `context`: the sentence before the source, and the only text that shows the gender. Two items with the same
    `pair` differ only in gender.
    """

    id: str
    part: str
    language: str
    gender: str
    source: str
    correct: str
    incorrect: str
    context: str = ""
    pair: str = ""


def extract_reference_words(text: str) -> frozenset[str]:
    """Return the set of words of a text, in lower case and without punctuation.

    >>> sorted(extract_reference_words("La jardinera, la alta."))
    ['alta', 'jardinera', 'la']
    """
    return frozenset(text.lower().translate(_WITHOUT_PUNCTUATION).split())


def _read_item(fields: Fields) -> GenevalItem | None:
    id_, language = fields.text("id"), fields.language()
    part = fields.choice("part", PARTS, "unknown-part")
    gender = fields.choice("gender", GENDERS, "unknown-source-gender")
    texts = [fields.text(key) for key in ("source", "correct", "incorrect")]
    optional = {key: fields.text(key) for key in ("context", "pair") if fields.values.get(key, "") != ""}
    return GenevalItem(id_, part, language, gender, *texts, **optional)


def _write_item(item: GenevalItem) -> dict[str, object]:
    values: dict[str, object] = {"id": item.id, "part": item.part, "language": item.language, "gender": item.gender}
    values |= {key: text for key in ("pair", "context") if (text := getattr(item, key))}
    return values | {"source": item.source, "correct": item.correct, "incorrect": item.incorrect}


def find_gendered_words(item: GenevalItem) -> str:
    """Return two words: for each reference, the longest word that the other reference does not have.

    The two words are sorted, so items about a man and about a woman have the same words. They usually are the two forms
    of an occupation; the data have no labels of occupations.

    >>> texts = {"source": "She is a tall gardener.", "correct": "Ella es jardinera.", "incorrect": "Él es jardinero."}
    >>> find_gendered_words(GenevalItem("1", "sentences", "es", "feminine", **texts))
    'jardinera jardinero'
    """
    correct, incorrect = extract_reference_words(item.correct), extract_reference_words(item.incorrect)
    longest = (max(sorted(words), key=len, default="") for words in (correct - incorrect, incorrect - correct))
    return " ".join(sorted(filter(None, longest)))


def _get_attributes(item: GenevalItem) -> dict[str, Any]:
    values = {"gender": item.gender, "gendered_words": find_gendered_words(item)}
    return values | {"pair": item.pair} if item.pair else values


def _lint_item(item: GenevalItem) -> list[Problem]:
    problems = []
    if extract_reference_words(item.incorrect) <= extract_reference_words(item.correct):
        problems.append(
            Problem(
                "no-wrong-words",
                "incorrect",
                "every word also occurs in the correct reference, so no translation can be wrong",
            )
        )
    if item.part == CONTEXT and not item.context:
        problems.append(Problem("no-context", "context", "is missing, so the gender is not known"))
    return problems


FORM = Form(
    name="geneval",
    item=GenevalItem,
    keys=("id", "part", "language", "gender", "pair", "context", "source", "correct", "incorrect"),
    optional=("pair", "context"),
    distinctive=("correct", "incorrect"),
    read=_read_item,
    write=_write_item,
    texts=lambda item: [
        (key, text) for key in ("context", "source", "correct", "incorrect") if (text := getattr(item, key))
    ],
    # An item cannot be translated to another language, because it would need references in this language.
    translatable=lambda _item: {},
    attributes=_get_attributes,
    factors={"words": ("gendered_words",)},
    hidden=("gendered_words",),
    subject="gender",
    shown=lambda item: ItemText(
        " ".join(filter(None, (item.context, item.source))), {"correct": item.correct, "incorrect": item.incorrect}
    ),
    heading=lambda item: (item.gender,),
    parts=PARTS,
    part_of=lambda item: item.part,
    unique=lambda item: [UniqueValue("duplicate-source", "source", (item.context, item.source))],
    lint=_lint_item,
    errors={"unknown-source-gender": "a source's gender that is not masculine, feminine or unknown"},
    warnings={
        "duplicate-source": "the same source text as an earlier item",
        "no-context": "an item of the part context without a context: its gender is not known",
        "no-wrong-words": "an incorrect reference without words of its own, so that no translation can be wrong",
    },
    changing_meaning=("no-context", "no-wrong-words"),
)
