"""Fields of option classes: their help texts, the types of their values, and the models that they apply to."""

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
    """One option of the command line, of plan files and of the studio.

    `name` is the name in plan files; on the command line, `-` replaces `_`. `kind` is the type of the values. `choices`
    returns the allowed values; None means that all values of the type are allowed. The option applies to models from
    `sources` (see `tiltmeter.models.scheme.Source`); `users` describes these models in messages. If `changes_results`
    is true, the option is part of a run's request (the stored description of the run) and of the folder name of a model
    in a matrix of runs. If `always_requested` is true, the option is in the request even if it has its default value.
    `in_plan` says whether plan files may set the option, and `for_translators` whether it also applies to runs of
    translation systems. `studio` is the label in the studio's form; the form does not show options without a label.
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
        """The name of the option on the command line, for example `--max-tokens`."""
        return f"--{self.name.replace('_', '-')}"

    def parse(self, given: Any) -> Any:
        """Convert a value from the command line; raise a UsageError if the value is not one of `choices`."""
        known = self.choices() if self.choices is not None else ()
        if known and given is not None and given not in known:
            raise UsageError(f"{self.flag} {given} is not a valid value; choose one of {', '.join(known)}.")
        return self.kind.parse(given)

    def is_given(self, value: Any) -> bool:
        """Return whether a value is neither the default nor empty."""
        return bool(value != self.default and value not in ((), {}))


def define_option(default: Any, help: str, kind: ValueKind, **settings: Any) -> Any:
    """Return a dataclass field for an option; `settings` are fields of `OptionField`."""
    metadata = {_KEY: {"help": help, "kind": kind, **settings}}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=lambda: dict(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def list_options(*groups: Any) -> list[OptionField]:
    """Return the options of option classes in the order of their fields; only fields from `define_option` are included.

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
    """Create an object of an option class; `values` maps field names to values, and `others` override `values`.

    Values whose name is not a field of the class are ignored.
    """
    names = {field.name for field in dataclasses.fields(group)}  # type: ignore[arg-type]
    return group(**{name: value for name, value in values.items() if name in names} | others)


def _get_default(field: Any) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
