"""`tiltmeter show`: print a finished run again."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_result
from tiltmeter.errors import UsageError


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    json: Annotated[bool, typer.Option("--json", help="All numbers as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="All numbers as CSV.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="The tables for a paper; they need booktabs.")] = False,
) -> None:
    """Print the result of a run again.

    **Examples**

    `tiltmeter show runs/demo`

    `tiltmeter show runs/demo --csv > numbers.csv`
    """
    from tiltmeter.reports.tables import as_csv, as_json, as_latex
    from tiltmeter.runs import Result

    chosen = [write for write, wanted in ((as_json, json), (as_csv, csv), (as_latex, latex)) if wanted]
    if len(chosen) > 1:
        raise UsageError("--json, --csv and --latex are for different programs; choose one of them.")
    result = Result.load(run)
    if chosen:
        print(chosen[0](result.records))
    else:
        print_result(result, None)
