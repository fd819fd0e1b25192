"""Fields of option classes: help text, kind of value, and where the option can be given."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tiltmeter.errors import UsageError
from tiltmeter.options.option_values import ValueKind

_KEY = "option"
Group = TypeVar("Group")


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionField:
    """An option as people give it.

    `name` is that of plans and of the command line, with `-` for `_`; `kind` says which values it takes, and `choices`
    lists them if they are few. `sources` are the places of models that it applies to
    (`tiltmeter.models.scheme.Source`), and `users` describes these models in messages. An option that
    `changes_results` is part of the request of a run, and of the name of a model's folder in a matrix; one that is
    `always_requested` is in the request with its default, too. `studio` is its label in the form of the studio; without
    one it is not offered there.
    """

    field: str
    name: str
    help: str
    kind: ValueKind
    default: Any
    metavar: str | None = None
    choices: Callable[[], Sequence[str]] | None = None
    users: str = ""
    sources: tuple[str, ...] = ()
    changes_results: bool = False
    always_requested: bool = False
    in_plan: bool = True
    for_translators: bool = False
    studio: str = ""

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    def parse(self, given: Any) -> Any:
        """The value of the command line's text; a UsageError if it is not one of the choices."""
        known = self.choices() if self.choices is not None else ()
        if known and given is not None and given not in known:
            raise UsageError(f"{self.flag} {given} is not known; choose {', '.join(known)}.")
        return self.kind.parse(given)

    def is_given(self, value: Any) -> bool:
        """Whether a value differs from the default."""
        return bool(value != self.default and value not in ((), {}))


def define_option(default: Any, help: str, kind: ValueKind, **settings: Any) -> Any:
    """A field of an option class; the settings are those of `OptionField`. The default name is that of the field."""
    metadata = {_KEY: {"help": help, "kind": kind, **settings}}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=lambda: dict(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def list_options(*groups: Any) -> list[OptionField]:
    """The options of dataclasses, in the order of their fields; fields without `define_option` are internal.

    >>> from tiltmeter.options import ChatOptions
    >>> [option.flag for option in list_options(ChatOptions)][:2]
    ['--full-design', '--max-tokens']
    """
    return [
        OptionField(**{"field": field.name, "name": field.name, "default": _get_default(field)} | field.metadata[_KEY])
        for group in groups
        for field in dataclasses.fields(group)
        if _KEY in field.metadata
    ]


def build_options(group: type[Group], values: Mapping[str, Any], **others: Any) -> Group:
    """An object of an option class, from the values that are named like its fields; `others` take precedence."""
    names = {field.name for field in dataclasses.fields(group)}  # type: ignore[arg-type]
    return group(**{name: value for name, value in values.items() if name in names} | others)


def _get_default(field: Any) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
