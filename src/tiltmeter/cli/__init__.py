"""The command line; each command has its own module."""

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

import tiltmeter
from tiltmeter.cli.error_boundary import TyperWrapped, report_errors
from tiltmeter.cli.help import simplify_option_types
from tiltmeter.safe_output import guard_output

# Maps each command to its module and the attribute of the module, in the order of the command list in the help. The
# attribute `app` is a group of commands.
_COMMANDS = {
    **{name: (name, name) for name in ("run", "score", "show", "report", "compare", "check")},
    "matrix": ("matrix", "matrix"),
    "sensitivity": ("sensitivity", "sensitivity"),
    "items": ("items", "items"),
    "plan": ("plan", "plan"),
    "energy": ("energy", "energy"),
    **{name: (name, name) for name in ("board", "export", "reproduce", "statement", "studio", "protocols", "doctor")},
    "gender": ("gender_group", "app"),
    **{name: (name, "app") for name in ("data", "gest", "make", "reference", "train")},
}

# Frequently used commands of command groups. To run one of them, only its own module is imported, so that it starts
# quickly.
_SINGLE_COMMANDS = {("data", "list"): ("data_list", "list_data")}


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(f"tiltmeter {tiltmeter.__version__}")
        raise typer.Exit


def _read_global_options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
    debug: bool = typer.Option(
        False, "--debug", help="Print the traceback of an error; accepted anywhere on the command line."
    ),
) -> None:
    """Measure the stereotypical bias of language models and translation systems, with confidence intervals.

    **Examples**

    `tiltmeter run`: measure the built-in model SmolLM2-135M-Instruct on the starter set, in about a minute

    `tiltmeter run bert-base-cased --on stereoset:en --out runs/bert`: measure a model of the Hugging Face hub

    `tiltmeter data list`: list all data sets

    `tiltmeter COMMAND --help`: options and examples of a command
    """


class _CommandGroup(TyperGroup):
    """The root command. After Ctrl-C or the end of standard input, `main` prints a message; Typer alone prints none."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the selected command."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError) as error:
            raise TyperWrapped(error) from error


def make_app(names: Iterable[str] = _COMMANDS) -> typer.Typer:
    """Return the command line with only the given commands; only the modules of these commands are imported."""
    root = typer.Typer(
        cls=_CommandGroup,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_show_locals=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(_read_global_options)
    for name in names:
        module, attribute = _COMMANDS[name]
        command = getattr(import_module(f"tiltmeter.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            root.add_typer(command, name=name)
        else:
            root.command()(command)
    return root


def _build_single_command(group: str, command: str) -> typer.Typer:
    module, attribute = _SINGLE_COMMANDS[group, command]
    root, inner = make_app([]), typer.Typer(rich_markup_mode="markdown")
    inner.command(command)(getattr(import_module(f"tiltmeter.cli.{module}"), attribute))
    root.add_typer(inner, name=group)
    return root


def __getattr__(name: str) -> Any:
    """Build `app`, the whole command line, on first use."""
    if name != "app":
        raise AttributeError(f"module 'tiltmeter.cli' has no attribute {name!r}")
    return make_app()


def main() -> None:
    """Run the command line; print errors as messages, and with `--debug` also their tracebacks."""
    words = sys.argv[1:]
    options = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in options
    sys.argv[1:] = [word for word in options if word != "--debug"] + words[len(options) :]
    with guard_output(), report_errors(debug=debug):
        if tuple(sys.argv[1:3]) in _SINGLE_COMMANDS:
            app = _build_single_command(*sys.argv[1:3])
        else:
            first = sys.argv[1:2]
            app = make_app(first if first and first[0] in _COMMANDS else _COMMANDS)
        simplify_option_types(typer.main.get_command(app))()
