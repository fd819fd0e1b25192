"""The class `Form`: everything the rest of Tiltmeter needs to know about one kind of item."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from tiltmeter.forms.fields import Fields, Problem


class Item(Protocol):
    """A test item of a data set, of any form."""

    @property
    def id(self) -> str:
        """Identifies the item; translations of an item share it."""

    @property
    def language(self) -> str:
        """A language code such as `de`."""


# What a translatable text is: a sentence by itself; a context, which names the term and may have a BLANK; a word that
# fills the BLANK; the term that the item is about.
TextType = Literal["sentence", "context", "word", "term"]

I = TypeVar("I", bound=Item)  # noqa: E741 - the item class of a form


@dataclass(frozen=True, slots=True)
class ItemText:
    """The texts of an item for display: its context, and its other texts by role."""

    context: str
    texts: Mapping[str, str]


class UniqueValue(NamedTuple):
    """A value that must be unique per file and language, and the code of the finding for a duplicate."""

    code: str
    field: str
    value: object


class SharedValue(NamedTuple):
    """A value that all items with the same `key` must share, per file and language, and the code of the finding."""

    code: str
    field: str
    key: object
    value: object


class JsonValues(NamedTuple):
    """The values of a JSONL line in the shape that `Form.read` takes.

    `names` maps fields to their names in the file, where these differ. `values` is None if the line cannot be read;
    `problems` then has the reason.
    """

    values: Mapping[str, object] | None
    names: Mapping[str, str] = {}
    problems: tuple[Problem, ...] = ()


def _keep_values(values: Mapping[str, object]) -> JsonValues:
    return JsonValues(values)


def _return_empty(_item: Any) -> Iterable[Any]:
    return ()


def _return_sentence_type(_field: str) -> TextType:
    return "sentence"


def _return_no_names(_item: Any) -> Mapping[str, str]:
    return {}


def _with_fields(item: Any, language: str, texts: Mapping[str, str]) -> Any:
    return replace(item, language=language, **texts)


def _return_no_part(_item: Any) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[I]):
    """The definition of one form of item.

    Validation uses `Fields`, not pydantic: half of the checks involve several fields (a candidate's word, sentence and
    context are derived from one another, its id from its role), every finding has its own code, and fields are
    reported under the names they have in the file, so each pydantic error would have to be translated. Items are also
    needed on cluster nodes that have only torch, transformers and numpy.
    """

    name: str
    item: type[I]
    # The keys of a JSONL line in the order in which they are written, and those that are optional.
    keys: tuple[str, ...]
    optional: tuple[str, ...] = ()
    # Keys that identify the form: a JSONL line matches it only if it has at least one of them.
    distinctive: tuple[str, ...]
    # `read` makes an item of the fields, or adds problems to them; `write` gives the values of a JSONL line.
    read: Callable[[Fields], I | None]
    write: Callable[[I], dict[str, object]]
    # Converts a JSONL line to the shape that `read` takes, if they differ.
    from_json: Callable[[Mapping[str, object]], JsonValues] = _keep_values
    # All texts by field; validation checks them for unusual characters.
    texts: Callable[[I], Iterable[tuple[str, str]]]
    # The texts to translate when making the item in another language, by field.
    translatable: Callable[[I], dict[str, str]]
    # What the translatable text of a field is; the repair of translations goes by it.
    text_kind: Callable[[str], TextType] = _return_sentence_type
    # By field, what people are told that a text is, where the field's name does not say it.
    text_names: Callable[[I], Mapping[str, str]] = _return_no_names
    # The item in another language, with the translations of its translatable texts; by default, fields of its class.
    with_texts: Callable[[I, str, Mapping[str, str]], I] = _with_fields
    # Columns that the item adds to the score table.
    attributes: Callable[[I], dict[str, Any]]
    # The attribute that says whom or what an item is about.
    subject: str = ""
    # Those of the attributes that are numbers rather than groups of items; reports do not filter by them.
    numbers: tuple[str, ...] = ()
    # By attribute, how reports name its values, where a value does not say enough by itself.
    value_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # By attribute, another attribute that holds the names of its values, for values that the data define.
    name_attributes: Mapping[str, str] = field(default_factory=dict)
    # For display: the item's texts, and the parts of its heading besides part, language and id.
    shown: Callable[[I], ItemText]
    heading: Callable[[I], tuple[str, ...]]
    # The parts of a benchmark. `part_of` gives the part of an item; None means that it is used in every part.
    parts: tuple[str, ...] = ()
    part_of: Callable[[I], str | None] = _return_no_part
    # Values that must be unique in a file, besides the id; values that items must share; and suspicious properties of a
    # usable item (warnings).
    unique: Callable[[I], Iterable[UniqueValue]] = _return_empty
    same: Callable[[I], Iterable[SharedValue]] = _return_empty
    lint: Callable[[I], Iterable[Problem]] = _return_empty
    # The codes of this form's validation findings, with their meanings.
    errors: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)
    # Those of the warnings after which a number means something else than it seems to; runs repeat them.
    changing_meaning: tuple[str, ...] = ()
    # Names of the form in earlier versions.
    former_names: tuple[str, ...] = ()

    def belongs_to(self, item: I, part: str) -> bool:
        """Whether an item is used in this part."""
        return part in self.parts and self.part_of(item) in (None, part)

    def compute_match_score(self, keys: Iterable[str]) -> int | None:
        """Number of known keys minus number of missing required keys; None if no distinctive key is present."""
        present = set(keys)
        if not present & set(self.distinctive):
            return None
        missing = set(self.keys) - set(self.optional) - present
        return len(present & set(self.keys)) - len(missing)
