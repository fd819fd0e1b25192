"""Show readable types in the help of options: NUMBER, PATH, FILE or FOLDER, and no type for flags and texts."""

from typing import Any

# Maps the type names that typer prints to readable ones.
_TYPE_NAMES = {"<bool>": "", "<str>": "", "<list[str]>": "", "<int>": "NUMBER", "<float>": "NUMBER", "<path>": "PATH"}
_TYPE_NAMES |= {"<file>": "FILE", "<directory>": "FOLDER", "<list[path]>": "PATH", "<int range>": "NUMBER"}
_TYPE_NAMES |= {"<float range>": "NUMBER"}


def simplify_option_types(command: Any) -> Any:
    """Change a command, or a group of commands, so that its help shows readable types; return the command."""
    for inner in getattr(command, "commands", {}).values():
        simplify_option_types(inner)
    for parameter in command.params:
        _simplify_type(parameter)
    original = command.get_help_option

    def get_help_option(context: Any) -> Any:
        option = original(context)
        if option is not None:
            _simplify_type(option)
        return option

    command.get_help_option = get_help_option
    return command


def _simplify_type(parameter: Any) -> None:
    original = getattr(parameter, "display_type_rich", None)
    if original is None:
        # Earlier versions of typer print no types for flags.
        return

    def display_option(ctx: Any) -> str | None:
        text: str | None = original(ctx=ctx)
        return text if text is None else _TYPE_NAMES.get(text.lower(), text)

    parameter.display_type_rich = display_option
