"""How the help shows what an option takes: words of its own, a number or a path; nothing for a switch."""

from typing import Any

# What typer calls the types of options, and what the help says instead.
_SHOWN = {"<bool>": "", "<str>": "", "<list[str]>": "", "<int>": "NUMBER", "<float>": "NUMBER", "<path>": "PATH"}
_SHOWN |= {"<file>": "FILE", "<directory>": "FOLDER", "<list[path]>": "PATH", "<int range>": "NUMBER"}
_SHOWN |= {"<float range>": "NUMBER"}


def with_plain_types(command: Any) -> Any:
    """The command, or group of commands, with plain words for types in its help."""
    for inner in getattr(command, "commands", {}).values():
        with_plain_types(inner)
    for parameter in command.params:
        _simplify_type(parameter)
    own = command.get_help_option

    def get_help_option(context: Any) -> Any:
        option = own(context)
        if option is not None:
            _simplify_type(option)
        return option

    command.get_help_option = get_help_option
    return command


def _simplify_type(parameter: Any) -> None:
    shown = getattr(parameter, "display_type_rich", None)
    if shown is None:  # earlier versions of typer show no types of switches
        return

    def display(ctx: Any) -> str | None:
        text: str | None = shown(ctx=ctx)
        return text if text is None else _SHOWN.get(text.lower(), text)

    parameter.display_type_rich = display
