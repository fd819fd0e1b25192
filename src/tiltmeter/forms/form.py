"""What a form of item is: everything that the rest of Tiltmeter asks about items of one kind."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tiltmeter.forms.fields import Fields, Problem


class Item(Protocol):
    """A test unit of a data set, of whatever form."""

    @property
    def id(self) -> str:
        """Names the item; the same in all languages."""

    @property
    def language(self) -> str:
        """A code such as `de`."""


I = TypeVar("I", bound=Item)  # noqa: E741 - the item class of a form


@dataclass(frozen=True, slots=True)
class ItemText:
    """An item as it is shown to a person: the text before the others, and each of the others by its role."""

    context: str
    texts: Mapping[str, str]


class Unique(NamedTuple):
    """A value that may occur once in a file and language, and the code of the finding if it occurs again."""

    code: str
    field: str
    value: object


class JsonValues(NamedTuple):
    """The values of a JSONL line as `Form.read` takes them.

    `names` gives the line's own name for a field where it is another one. `values` is None where the line cannot be
    read at all; `problems` then say why.
    """

    values: Mapping[str, object] | None
    names: Mapping[str, str] = {}
    problems: tuple[Problem, ...] = ()


def _as_they_are(values: Mapping[str, object]) -> JsonValues:
    return JsonValues(values)


def _nothing(_item: Any) -> Iterable[Any]:
    return ()


def _undivided(_item: Any) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[I]):
    """One kind of item.

    Validation is by hand (`Fields`), not by pydantic: half of the checks are between fields (a candidate's word,
    sentence and context are told from one another, its id from its role), every finding has a code of its own, and
    the field is named as the file names it, so that each pydantic error would have to be translated one by one to say
    as much. Items are also needed on cluster nodes that have torch, transformers and numpy alone.
    """

    name: str
    item: type[I]
    # The keys of a line of JSONL, in the order in which they are written, and those that a line may lack.
    keys: tuple[str, ...]
    optional: tuple[str, ...] = ()
    # The keys of which one has to be there for a line to be taken for an item of this form.
    telling: tuple[str, ...]
    # Makes an item, or notes what is wrong; the second makes the values of a line of JSONL.
    read: Callable[[Fields], I | None]
    write: Callable[[I], dict[str, object]]
    # Brings a line of JSONL into the shape that `read` takes, where that is another one.
    from_json: Callable[[Mapping[str, object]], JsonValues] = _as_they_are
    # All texts by their fields: looked through for odd characters.
    texts: Callable[[I], Iterable[tuple[str, str]]]
    # The texts that a translator would translate, by their fields.
    translatable: Callable[[I], dict[str, str]]
    # The columns that an item adds to the table of scores.
    attributes: Callable[[I], dict[str, Any]]
    # Those of the attributes that are numbers rather than groups of items; reports do not filter by them.
    numbers: tuple[str, ...] = ()
    # How an item is shown: its texts, and what is said of it in a heading, besides part, language and id.
    shown: Callable[[I], ItemText]
    heading: Callable[[I], tuple[str, ...]]
    # The parts of a benchmark. `part_of` gives that of an item; where it is None, the item is asked in every part.
    parts: tuple[str, ...] = ()
    part_of: Callable[[I], str | None] = _undivided
    # What should occur once in a file besides the id; and what is odd about an item that can be used all the same.
    unique: Callable[[I], Iterable[Unique]] = _nothing
    blemishes: Callable[[I], Iterable[Problem]] = _nothing
    # The codes of findings that this form brings, with their meanings.
    errors: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)
    # Names that the form had in earlier versions.
    formerly: tuple[str, ...] = ()

    def belongs_to(self, item: I, part: str) -> bool:
        """Whether an item is asked in this part."""
        return part in self.parts and self.part_of(item) in (None, part)

    def fit(self, keys: Iterable[str]) -> int | None:
        """How well the keys of a line fit: those that are known less those that are missing; None if none tells."""
        there = set(keys)
        if not there & set(self.telling):
            return None
        missing = set(self.keys) - set(self.optional) - there
        return len(there & set(self.keys)) - len(missing)
