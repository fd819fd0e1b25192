"""`tiltmeter show`: print a finished run again."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_result


def show(run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]) -> None:
    """Print the result of a run again.

    **Example**

    `tiltmeter show runs/demo`
    """
    from tiltmeter.runs import Result

    print_result(Result.load(run), None)
