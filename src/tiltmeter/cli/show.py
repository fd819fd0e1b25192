"""`tiltmeter show`: print the results of one run or more."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.output import parse_choice, print_result
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console

if TYPE_CHECKING:
    from tiltmeter.runs.result import Result


def show(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or with runs below them.")],
    by: Annotated[
        str | None,
        typer.Option(
            metavar="VIEW", help="The numbers by `target`, `bias_type`, `direction`, `stereotype` or `sub_stereotype`."
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(min=0, metavar="N", help="Also the N items with the strongest preference for the stereotype.")
    ] = 0,
    measure: Annotated[list[str] | None, typer.Option(help="Of several runs: only this measure, such as `SS`.")] = None,
    columns: Annotated[
        str, typer.Option(metavar="GROUPS", help="Of several runs: columns in groups by `language` or by `measure`.")
    ] = "language",
    json: Annotated[bool, typer.Option("--json", help="All numbers as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="All numbers as CSV.")] = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="The tables as LaTeX, with booktabs; of several runs also graphicx.")
    ] = False,
) -> None:
    """Print the results of a run, or one table of several runs.

    The table of several runs has a row for each model and a column for each language and measure. The best of a column
    is marked only if it is significantly closer to the ideal than all others.

    **Examples**

    `tiltmeter show runs/demo`

    `tiltmeter show runs/demo --by target`

    `tiltmeter show runs/demo --by bias_type --top 10`

    `tiltmeter show runs/demo --csv > numbers.csv`

    `tiltmeter show runs/new runs/old runs/multilingual --measure SS --measure LMS --latex > table.tex`

    `tiltmeter show runs/matrix`: all runs in a folder.

    The texts of items may be offensive; those of translated items have their English originals beside them.
    """

    from tiltmeter.runs.nested_runs import expand_run_folders
    from tiltmeter.runs.result import Result

    runs = expand_run_folders(runs)
    if top and (json or csv or latex):
        raise UsageError(
            "--top prints texts and cannot be combined with --json, --csv or --latex; see `tiltmeter items`."
        )
    if json + csv + latex > 1:
        raise UsageError("--json, --csv and --latex cannot be combined; choose one of them.")
    chosen = "json" if json else "csv" if csv else "latex" if latex else ""
    if len(runs) > 1:
        if by is not None or top:
            raise UsageError(f"{'--by' if by is not None else '--top'} is for one run; give one of them.")
        _print_several(runs, chosen, measure or [], columns)
        return
    if measure or columns != "language":
        raise UsageError(f"{'--measure' if measure else '--columns'} is for a table of several runs; give two or more.")
    if by is not None and chosen:
        raise UsageError(f"--by is for the table in the terminal; leave it out, or --{chosen}. --csv has all views.")
    result = Result.load(runs[0])
    if chosen:
        from tiltmeter.reports.record_tables import format_records_csv, format_records_json, format_records_latex

        print(
            {"json": format_records_json, "csv": format_records_csv, "latex": format_records_latex}[chosen](
                result.records
            )
        )
    else:
        _print_one(result, by, top)


def _print_one(result: "Result", by: str | None, top: int) -> None:
    from tiltmeter.comparing.strongest_items import select_strongest_items
    from tiltmeter.datasets.name_suggestions import suggest_name
    from tiltmeter.reports.figures.target_forest import SINGLE_TERMS
    from tiltmeter.reports.item_tables import print_strongest

    views = list(dict.fromkeys(record.view for record in result.records))
    if by is not None and by not in views:
        raise UsageError(f"The run has no numbers by {by}{suggest_name(by, views)}; it has {', '.join(views)}.")
    print_result(result, None, view=by or "all")
    if by == "target":
        typer.echo(SINGLE_TERMS)
    if top:
        print_strongest(select_strongest_items(result, top), create_plain_console())


def _print_several(folders: list[Path], chosen: str, measures: list[str], columns: str) -> None:
    from tiltmeter.api import load_named_runs
    from tiltmeter.reports.record_tables import format_runs_csv, format_runs_json
    from tiltmeter.reports.wide_latex import format_wide_latex
    from tiltmeter.reports.wide_table import GROUPINGS, build_wide_tables
    from tiltmeter.reports.wide_terminal import print_wide_tables

    grouping = parse_choice(columns, GROUPINGS, "--columns") or "language"
    if chosen in ("json", "csv") and (measures or grouping != "language"):
        ignored = "--measure" if measures else "--columns"
        raise UsageError(f"{ignored} is for tables; --{chosen} has all numbers, so leave it out.")
    runs = load_named_runs(folders)
    if chosen in ("json", "csv"):
        records = [(name, result.records) for name, result in runs]
        print(format_runs_json(records) if chosen == "json" else format_runs_csv(records))
        return
    tables = build_wide_tables(runs, grouping=grouping, measures=measures)
    if chosen == "latex":
        print(format_wide_latex(tables))
    else:
        print_wide_tables(tables, create_plain_console())
