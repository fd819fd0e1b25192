"""The class `Form`: the definition of one type of item."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from tiltmeter.forms.fields import Fields, Problem


class Item(Protocol):
    """An item of a data set, of any form."""

    @property
    def id(self) -> str:
        """The id of the item; translations of an item have the id of the original."""

    @property
    def language(self) -> str:
        """The code of the item's language, such as `de`."""


# The type of a translatable text. "sentence": an independent sentence. "context": a text that contains the term and may
# contain BLANK. "word": a word that replaces BLANK. "term": the name of the group or person that the item is about.
TextType = Literal["sentence", "context", "word", "term"]

I = TypeVar("I", bound=Item)  # noqa: E741 - the item class of a form


@dataclass(frozen=True, slots=True)
class ItemText:
    """The texts of an item for display: the context, and a mapping from roles to the other texts."""

    context: str
    texts: Mapping[str, str]


class UniqueValue(NamedTuple):
    """A value that must be unique per file and language; a duplicate gives a validation finding with this `code`."""

    code: str
    field: str
    value: object


class SharedValue(NamedTuple):
    """A value that must be equal for all items with the same `key`, per file and language.

    An item with a different value gives a validation finding with this `code`.
    """

    code: str
    field: str
    key: object
    value: object


class JsonValues(NamedTuple):
    """The values of a JSONL line as `Form.read` expects them.

    `names` maps fields to their names in the file if these differ. If the line cannot be read, `values` is None and
    `problems` contains the reason.
    """

    values: Mapping[str, object] | None
    names: Mapping[str, str] = {}
    problems: tuple[Problem, ...] = ()


def _replace_fields(item: Any, language: str, texts: Mapping[str, str]) -> Any:
    return replace(item, language=language, **texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[I]):
    """The definition of one type of item."""

    # Items are validated with `Fields` instead of pydantic: many checks involve several fields, findings have their own
    # codes, and fields are reported under the names in the file. Besides, cluster nodes may not have pydantic.

    name: str
    item: type[I]
    # `keys` are the keys of a JSONL line in the order in which they are written; `optional` are the optional keys.
    keys: tuple[str, ...]
    optional: tuple[str, ...] = ()
    # Keys that identify the form: a JSONL line matches only if it has at least one of them.
    distinctive: tuple[str, ...]
    # `read` builds an item from `Fields`; it adds a problem for each invalid field, and returns None if it cannot build
    # the item. `write` returns the values of a JSONL line.
    read: Callable[[Fields], I | None]
    write: Callable[[I], dict[str, object]]
    # Converts the values of a JSONL line to the structure that `read` expects.
    from_json: Callable[[Mapping[str, object]], JsonValues] = JsonValues
    # Returns (field, text) for all texts of an item; validation checks their characters.
    texts: Callable[[I], Iterable[tuple[str, str]]]
    # Returns the texts that must be translated to get the item in another language, by field.
    translatable: Callable[[I], dict[str, str]]
    # Returns the type of a field's text; the repair of translations depends on the type.
    text_kind: Callable[[str], TextType] = lambda _field: "sentence"
    # Returns display names for fields whose own names do not explain the text.
    text_names: Callable[[I], Mapping[str, str]] = lambda _item: {}
    # Returns the item in another language with translated texts; the default sets the fields of the item.
    with_texts: Callable[[I, str, Mapping[str, str]], I] = _replace_fields
    # Returns the columns that the item adds to the score table.
    attributes: Callable[[I], dict[str, Any]]
    # The attribute that names the person, group or topic of an item.
    subject: str = ""
    # Attributes that are numbers, not groups of items; reports do not filter by them.
    numbers: tuple[str, ...] = ()
    # The factors of items (what several items share, such as a word): maps a plural noun, such as "words", to the
    # attributes with the labels of the factor. Intervals account for factors; `--fixed words` limits the claim to the
    # words in the data.
    factors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Attributes that are used only as factors; reports do not show them or filter by them.
    hidden: tuple[str, ...] = ()
    # For each attribute, the names of its values in reports.
    value_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Maps an attribute, such as the number of a stereotype, to the attribute in which data sets can name its values.
    name_attributes: Mapping[str, str] = field(default_factory=dict)
    # Returns the complete texts among which a model chooses, by role; empty if an item is not a choice between texts.
    options: Callable[[I], Mapping[str, str]] = lambda _item: {}
    # For display: `shown` returns the texts of an item; `heading` returns its heading without part, language and id.
    shown: Callable[[I], ItemText]
    heading: Callable[[I], tuple[str, ...]]
    # `parts` are the parts of the benchmark. `part_of` returns the part of an item; None if every part uses the item.
    parts: tuple[str, ...] = ()
    part_of: Callable[[I], str | None] = lambda _item: None
    # `unique` returns values, besides the id, that must be unique in a file. `same` returns values that must be equal
    # in all items with the same key. `lint` returns warnings about an item that can be used.
    unique: Callable[[I], Iterable[UniqueValue]] = lambda _item: ()
    same: Callable[[I], Iterable[SharedValue]] = lambda _item: ()
    lint: Callable[[I], Iterable[Problem]] = lambda _item: ()
    # Mappings from the codes of this form's validation findings to their meanings.
    errors: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)
    # The codes of warnings that affect the interpretation of results; runs repeat these warnings.
    changing_meaning: tuple[str, ...] = ()

    def belongs_to(self, item: I, part: str) -> bool:
        """Return whether an item is used in this part."""
        return part in self.parts and self.part_of(item) in (None, part)

    def compute_match_score(self, keys: Iterable[str]) -> int | None:
        """Return a score of how well the keys of a JSONL line match this form; None if no key is distinctive.

        The score is the number of these keys that the form knows, minus the number of required keys that are missing.
        """
        present = set(keys)
        if not present & set(self.distinctive):
            return None
        missing = set(self.keys) - set(self.optional) - present
        return len(present & set(self.keys)) - len(missing)
