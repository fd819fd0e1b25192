"""The command line, one module per command."""

import sys

import typer
from rich.console import Console
from rich.text import Text

import tiltmeter
from tiltmeter.cli import data, gender_group, gest, make, train
from tiltmeter.cli.check import check
from tiltmeter.cli.compare import compare
from tiltmeter.cli.export import export
from tiltmeter.cli.report import report
from tiltmeter.cli.reproduce import reproduce
from tiltmeter.cli.run import run
from tiltmeter.cli.score import score
from tiltmeter.cli.show import show
from tiltmeter.cli.studio import studio
from tiltmeter.errors import TiltmeterError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tiltmeter {tiltmeter.__version__}")
        raise typer.Exit


@app.callback()
def _tiltmeter(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Measure the stereotypical bias of language models and translation systems, with confidence intervals.

    Start with `tiltmeter run`: it measures the small embedded model on the starter set in about a minute.
    """


app.command()(run)
app.command()(score)
app.command()(show)
app.command()(report)
app.command()(compare)
app.command()(check)
app.command()(export)
app.command()(reproduce)
app.command()(studio)
app.add_typer(gender_group.app, name="gender")
app.add_typer(data.app, name="data")
app.add_typer(gest.app, name="gest")
app.add_typer(make.app, name="make")
app.add_typer(train.app, name="train")


def main() -> None:
    """Run the command line. Errors that a user can fix are one sentence and exit code 2, without a traceback."""
    console = Console(stderr=True)
    try:
        app()
    except TiltmeterError as error:
        console.print(Text.assemble(("tiltmeter: ", "bold red"), str(error)), soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        console.print("tiltmeter: Stopped. What is stored so far is kept; the same command continues from there.")
        sys.exit(130)
