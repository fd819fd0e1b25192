"""`tiltmeter show`: print the results of a run."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_result
from tiltmeter.errors import UsageError
from tiltmeter.printable import plain_console


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    by: Annotated[
        str | None,
        typer.Option(
            metavar="VIEW", help="The numbers by `target`, `bias_type`, `direction`, `stereotype` or `sub_stereotype`."
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(min=0, metavar="N", help="Also the N items with the strongest preference for the stereotype.")
    ] = 0,
    json: Annotated[bool, typer.Option("--json", help="All numbers as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="All numbers as CSV.")] = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="The tables as LaTeX; they need the package booktabs.")
    ] = False,
) -> None:
    """Print the results of a run.

    **Examples**

    `tiltmeter show runs/demo`

    `tiltmeter show runs/demo --by target`

    `tiltmeter show runs/demo --by bias_type --top 10`

    `tiltmeter show runs/demo --csv > numbers.csv`

    The texts of items may be offensive; those of translated items have their English originals beside them.
    """

    from tiltmeter.comparing.strongest_items import strongest_items
    from tiltmeter.datasets.suggest import did_you_mean
    from tiltmeter.reports.figures.of_benchmark import SINGLE_TERMS
    from tiltmeter.reports.item_tables import print_strongest
    from tiltmeter.reports.tables import as_csv, as_json, as_latex
    from tiltmeter.runs.result import Result

    chosen = [write for write, wanted in ((as_json, json), (as_csv, csv), (as_latex, latex)) if wanted]
    if top and chosen:
        raise UsageError(
            "--top prints texts and cannot be combined with --json, --csv or --latex; see `tiltmeter items`."
        )
    if len(chosen) > 1:
        raise UsageError("--json, --csv and --latex cannot be combined; choose one of them.")
    result = Result.load(run)
    if chosen:
        print(chosen[0](result.records))
    else:
        views = list(dict.fromkeys(record.view for record in result.records))
        if by is not None and by not in views:
            raise UsageError(f"The run has no numbers by {by}{did_you_mean(by, views)}; it has {', '.join(views)}.")
        print_result(result, None, view=by or "all")
        if by == "target":
            typer.echo(SINGLE_TERMS)
        if top:
            print_strongest(strongest_items(result, top), plain_console())
