"""The command line, one module per command."""

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import typer

import tiltmeter
from tiltmeter.cli.help import with_plain_types
from tiltmeter.errors import TiltmeterError

# The commands in the order of the help, with their modules. A function is a command, an `app` a group of commands.
_COMMANDS = {
    **{name: (name, name) for name in ("run", "score", "show", "report", "compare", "check")},
    "sensitivity": ("ask_again", "sensitivity"),
    "items": ("judge_items", "items"),
    **{name: (name, name) for name in ("export", "reproduce", "studio", "protocols")},
    "gender": ("gender_group", "app"),
    **{name: (name, "app") for name in ("data", "gest", "make", "train")},
}

# Commands of groups that are asked for so often that nothing else is imported for them.
_ALONE = {("data", "list"): ("data_list", "list_data")}


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tiltmeter {tiltmeter.__version__}")
        raise typer.Exit


def _tiltmeter(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Measure the stereotypical bias of language models and translation systems, with confidence intervals.

    Start with `tiltmeter run`: it measures the small embedded model on the starter set in about a minute.
    """


def make_app(names: Iterable[str] = _COMMANDS) -> typer.Typer:
    """The command line with these commands; only their modules are imported."""
    made = typer.Typer(
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


def _alone(group: str, command: str) -> typer.Typer:
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
    """Run the command line. Errors that a user can fix are one sentence and exit code 2, without a traceback."""
    named = sys.argv[1:2]
    try:
        if tuple(sys.argv[1:3]) in _ALONE:
            app = _alone(*sys.argv[1:3])
        else:
            app = make_app(named if named and named[0] in _COMMANDS else _COMMANDS)
        with_plain_types(typer.main.get_command(app))()
    except TiltmeterError as error:
        _complain(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        _complain("Stopped. What is stored so far is kept; the same command continues from there.")
        sys.exit(130)


def _complain(sentence: str) -> None:
    from rich.console import Console  # a command that succeeds may not need it
    from rich.text import Text

    Console(stderr=True).print(Text.assemble(("tiltmeter: ", "bold red"), sentence), soft_wrap=True)
