"""Options of a command that are derived from option classes."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from inspect import Parameter
from typing import Any

import typer

from tiltmeter.options import OptionField, list_options


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of the classes that its parameters are annotated with.

    A parameter such as `model_options: ModelOptions` becomes an option of the command line for each field of the class,
    and the command is called with an object of that class.
    """
    signature = inspect.signature(command)
    groups: dict[str, Any] = {
        name: kept.annotation for name, kept in signature.parameters.items() if is_dataclass(kept.annotation)
    }

    @functools.wraps(command)
    def call(**values: Any) -> None:
        for name, group in groups.items():
            given = {one.field: one.parse(values.pop(one.name)) for one in list_options(group)}
            values[name] = group(**given)
        command(**values)

    parameters = []
    for name, parameter in signature.parameters.items():
        parameters += [_to_parameter(one) for one in list_options(groups[name])] if name in groups else [parameter]
    call.__signature__ = signature.replace(parameters=[one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters])  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _to_parameter(option: OptionField) -> Parameter:
    kind = option.kind.type
    # Values that are parsed have a text, or nothing, as the default of the command line.
    default = option.default if isinstance(option.default, kind if isinstance(kind, type) else ()) else None
    return Parameter(
        option.name,
        Parameter.KEYWORD_ONLY,
        # Without an explicit flag, typer would add --no-plain to --plain.
        default=typer.Option(default, option.flag, metavar=option.metavar, help=option.help),
        annotation=kind if default is not None else kind | None,
    )
