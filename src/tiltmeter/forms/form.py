"""The class `Form`: the definition of one type of item."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from tiltmeter.forms.fields import Fields, Problem


class Item(Protocol):
    """An item of a data set, of any form."""

    @property
    def id(self) -> str:
        """The id; an item and its translations have the same id."""

    @property
    def language(self) -> str:
        """A language code such as `de`."""


# The type of a translatable text: an independent sentence; a context, which contains the term and may contain BLANK; a
# word that replaces BLANK; the term that the item is about.
TextType = Literal["sentence", "context", "word", "term"]

I = TypeVar("I", bound=Item)  # noqa: E741 - the item class of a form


@dataclass(frozen=True, slots=True)
class ItemText:
    """The texts of an item for display: the context, and the other texts by role."""

    context: str
    texts: Mapping[str, str]


class UniqueValue(NamedTuple):
    """A value that must be unique per file and language; `code` is the finding for a duplicate."""

    code: str
    field: str
    value: object


class SharedValue(NamedTuple):
    """A value that all items with the same `key` must share, per file and language; `code` is the finding if not."""

    code: str
    field: str
    key: object
    value: object


class JsonValues(NamedTuple):
    """The values of a JSONL line as `Form.read` expects them.

    `names` maps fields to different names in the file. `values` is None if the line cannot be read; `problems` has the
    reason.
    """

    values: Mapping[str, object] | None
    names: Mapping[str, str] = {}
    problems: tuple[Problem, ...] = ()


def _with_fields(item: Any, language: str, texts: Mapping[str, str]) -> Any:
    return replace(item, language=language, **texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[I]):
    """The definition of one type of item."""

    # Items are validated with `Fields` instead of pydantic: many checks involve several fields, findings have their own
    # codes, and fields are reported under the names in the file. Cluster nodes may also lack pydantic.

    name: str
    item: type[I]
    # The keys of a JSONL line, in the order of writing, and the optional ones among them.
    keys: tuple[str, ...]
    optional: tuple[str, ...] = ()
    # Keys that identify the form: a JSONL line matches only if it has at least one of them.
    distinctive: tuple[str, ...]
    # `read` builds an item from fields, or adds problems to them; `write` returns the values of a JSONL line.
    read: Callable[[Fields], I | None]
    write: Callable[[I], dict[str, object]]
    # Converts the values of a JSONL line to the structure that `read` expects.
    from_json: Callable[[Mapping[str, object]], JsonValues] = JsonValues
    # All texts by field; validation checks their characters.
    texts: Callable[[I], Iterable[tuple[str, str]]]
    # The texts to translate for the item in another language, by field.
    translatable: Callable[[I], dict[str, str]]
    # The type of the translatable text of a field; the repair of translations depends on it.
    text_kind: Callable[[str], TextType] = lambda _field: "sentence"
    # Display names of fields whose own names do not explain the text.
    text_names: Callable[[I], Mapping[str, str]] = lambda _item: {}
    # Returns the item in another language, with translated texts; by default, texts are fields of the item.
    with_texts: Callable[[I, str, Mapping[str, str]], I] = _with_fields
    # Returns the columns that the item adds to the score table.
    attributes: Callable[[I], dict[str, Any]]
    # The attribute that names the person, group or topic of an item.
    subject: str = ""
    # Attributes that are numbers, not groups of items; reports do not filter by them.
    numbers: tuple[str, ...] = ()
    # For each attribute, the names of its values in reports.
    value_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # For each attribute whose values are defined by the data, the attribute with the names of these values.
    name_attributes: Mapping[str, str] = field(default_factory=dict)
    # For display: the texts of the item, and its heading without part, language and id.
    shown: Callable[[I], ItemText]
    heading: Callable[[I], tuple[str, ...]]
    # The parts of a benchmark. `part_of` returns the part of an item; None: the item is used in every part.
    parts: tuple[str, ...] = ()
    part_of: Callable[[I], str | None] = lambda _item: None
    # Values besides the id that must be unique in a file; values that items must share; warnings about a usable item.
    unique: Callable[[I], Iterable[UniqueValue]] = lambda _item: ()
    same: Callable[[I], Iterable[SharedValue]] = lambda _item: ()
    lint: Callable[[I], Iterable[Problem]] = lambda _item: ()
    # The codes of this form's validation findings, with their meanings.
    errors: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)
    # Warnings that change the meaning of a number; runs repeat them.
    changing_meaning: tuple[str, ...] = ()

    def belongs_to(self, item: I, part: str) -> bool:
        """Return whether an item is used in this part."""
        return part in self.parts and self.part_of(item) in (None, part)

    def compute_match_score(self, keys: Iterable[str]) -> int | None:
        """Return the known keys minus the missing required keys, as a number; None without a distinctive key."""
        present = set(keys)
        if not present & set(self.distinctive):
            return None
        missing = set(self.keys) - set(self.optional) - present
        return len(present & set(self.keys)) - len(missing)
