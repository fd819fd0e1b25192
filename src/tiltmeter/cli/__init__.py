"""The command line, one module per command."""

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

import tiltmeter
from tiltmeter.cli.error_boundary import TyperWrapped, report_errors
from tiltmeter.cli.help import with_plain_types
from tiltmeter.safe_output import guard_output

# The commands in the order of the help, with their modules. A function is a command, an `app` a group of commands.
_COMMANDS = {
    **{name: (name, name) for name in ("run", "score", "show", "report", "compare", "check")},
    "matrix": ("matrix", "matrix"),
    "sensitivity": ("sensitivity", "sensitivity"),
    "items": ("items", "items"),
    **{name: (name, name) for name in ("board", "export", "reproduce", "studio", "protocols")},
    "gender": ("gender_group", "app"),
    **{name: (name, "app") for name in ("data", "gest", "make", "train")},
}

# Commands of groups that are asked for so often that nothing else is imported for them.
_ALONE = {("data", "list"): ("data_list", "list_data")}


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tiltmeter {tiltmeter.__version__}")
        raise typer.Exit


def _tiltmeter(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error, too; may stand anywhere."),
) -> None:
    """Measure the stereotypical bias of language models and translation systems, with confidence intervals.

    Start with `tiltmeter run`: it measures the embedded model (SmolLM2-135M-Instruct, Q4_1) on the starter set in about
    a minute.
    """


class _CommandGroup(TyperGroup):
    """The commands; Typer ends without a word after Ctrl-C, and takes the end of a file for a refusal of the user."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError) as error:
            raise TyperWrapped(error) from error


def make_app(names: Iterable[str] = _COMMANDS) -> typer.Typer:
    """The command line with these commands; only their modules are imported."""
    made = typer.Typer(
        cls=_CommandGroup,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_show_locals=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_tiltmeter)
    for name in names:
        module, attribute = _COMMANDS[name]
        found = getattr(import_module(f"tiltmeter.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            made.add_typer(found, name=name)
        else:
            made.command()(found)
    return made


def _build_single_command(group: str, command: str) -> typer.Typer:
    """The command line with one command of a group."""
    module, attribute = _ALONE[group, command]
    made, inside = make_app([]), typer.Typer(rich_markup_mode="markdown")
    inside.command(command)(getattr(import_module(f"tiltmeter.cli.{module}"), attribute))
    made.add_typer(inside, name=group)
    return made


def __getattr__(name: str) -> Any:
    """`app`, the whole command line, is made when it is asked for."""
    if name != "app":
        raise AttributeError(f"module 'tiltmeter.cli' has no attribute {name!r}")
    return make_app()


def main() -> None:
    """Run the command line; errors end with a message, and with a traceback if `--debug` is given."""
    words = sys.argv[1:]
    before = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in before
    sys.argv[1:] = [word for word in before if word != "--debug"] + words[len(before) :]
    with guard_output(), report_errors(debug=debug):
        if tuple(sys.argv[1:3]) in _ALONE:
            app = _build_single_command(*sys.argv[1:3])
        else:
            named = sys.argv[1:2]
            app = make_app(named if named and named[0] in _COMMANDS else _COMMANDS)
        with_plain_types(typer.main.get_command(app))()
