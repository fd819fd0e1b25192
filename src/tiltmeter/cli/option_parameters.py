"""Command-line options that are generated from option classes."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from inspect import Parameter
from typing import Any

import typer

from tiltmeter.options import ChatOptions, OptionField, RunSettings, list_options

# The headings of groups of options in a help text.
_PANELS: dict[Any, str] = {RunSettings: "Items and statistics", ChatOptions: "Chat models"}
# The headings of options for opening models, by the models that they apply to.
_PANELS_BY_USERS = {"models behind a server": "Models on a server", "chat models": "Chat models"}
_MODELS = "Models on this machine"


def add_option_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which command-line options replace each parameter whose type is an option class.

    For example, the parameter `options: ModelOptions` is replaced by one option for each field of `ModelOptions`. The
    original command is called with a `ModelOptions` object.
    """
    signature = inspect.signature(command)
    groups: dict[str, Any] = {
        name: one.annotation for name, one in signature.parameters.items() if is_dataclass(one.annotation)
    }

    @functools.wraps(command)
    def call(**values: Any) -> None:
        for name, group in groups.items():
            fields = {one.field: one.parse(values.pop(one.name)) for one in list_options(group)}
            values[name] = group(**fields)
        command(**values)

    parameters = []
    for name, parameter in signature.parameters.items():
        parameters += (
            [_to_parameter(one, groups[name]) for one in list_options(groups[name])] if name in groups else [parameter]
        )
    call.__signature__ = signature.replace(parameters=[one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters])  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _to_parameter(option: OptionField, group: Any) -> Parameter:
    kind = option.kind.type
    # If the default is not of the option's type (such as an empty tuple), the option has no default on the command
    # line.
    default = option.default if isinstance(option.default, kind if isinstance(kind, type) else ()) else None
    return Parameter(
        option.name,
        Parameter.KEYWORD_ONLY,
        # Give the flag explicitly, because typer would otherwise add a negated flag, such as --no-plain for --plain.
        default=typer.Option(
            default,
            option.flag,
            metavar=option.metavar,
            help=option.help,
            rich_help_panel=_PANELS.get(group) or _PANELS_BY_USERS.get(option.users, _MODELS),
        ),
        annotation=kind if default is not None else kind | None,
    )
