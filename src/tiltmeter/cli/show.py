"""`tiltmeter show`: print the results of one or more runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.output import parse_choice, print_result
from tiltmeter.cli.run_options import reject_given_options
from tiltmeter.cli.show_layout import print_layouts
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console

if TYPE_CHECKING:
    from tiltmeter.runs.result import Result


_FOR_LAYOUTS = ("bold", "attributes", "html", "markdown")
_NOT_FOR_LAYOUTS = ("by", "top", "measure", "columns", "json", "csv")


def show(
    context: typer.Context,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or folders that contain runs.")],
    by: Annotated[
        str | None,
        typer.Option(
            metavar="VIEW",
            help="Print values for each group of items: each `target`, `bias_type`, `direction`, `stereotype` or "
            "`sub_stereotype`.",
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Also print the N items with the strongest preference for the stereotype."
        ),
    ] = 0,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="For several runs: print only this measure, such as `SS`; repeat the option for more."),
    ] = None,
    columns: Annotated[
        str, typer.Option(metavar="GROUPS", help="For several runs: group columns by `language` or by `measure`.")
    ] = "language",
    layout: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Print the tables of a paper: `oeztuerk2023`, `oeztuerk2022`, `steinborn2022` or `gest2024`, or of a "
            "TOML file with a layout of your own.",
        ),
    ] = None,
    bold: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="With --layout: numbers in bold. `paper` (the default): as in the paper; `best`: the best of each "
            "column and block; `significant`: only if it is significantly better than all others; `none`.",
        ),
    ] = None,
    attributes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --layout: a TOML file with attributes of models, such as `row` and `multilingual`; the default "
            "is the `plan.toml` in a run's folder or up to three folders above it.",
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="Select the tests that are corrected together for multiple testing, and compute the verdicts again: "
            "the tests of each part and language (`portion`), or all tests of the run (`run`)."
        ),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR",
            help="Do not generalise over this factor, such as `words`: results then concern only the words in the "
            "data. Repeat for more.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print all values as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print all values as CSV.")] = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print tables as LaTeX (packages booktabs and, for several runs, graphicx).")
    ] = False,
    html: Annotated[bool, typer.Option("--html", help="With --layout: print tables as HTML.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="With --layout: print tables as Markdown.")] = False,
) -> None:
    """Print the results of a run, or one table of several runs.

    The table of several runs has a row for each model and a column for each language and measure. The best value of a
    column is marked only if it is significantly closer to the ideal than all others. --top prints texts of items, which
    may be offensive; translated items are printed with their English originals.

    **Examples**

    `tiltmeter show runs/demo`

    `tiltmeter show runs/demo --by target`

    `tiltmeter show runs/demo --by bias_type --top 10`

    `tiltmeter show runs/demo --csv > numbers.csv`

    `tiltmeter show runs/new runs/old runs/multilingual --measure SS --measure LMS --latex > table.tex`

    `tiltmeter show runs/matrix`: all runs in a folder

    `tiltmeter show runs/matrix --layout oeztuerk2023 --bold significant --latex > tables.tex`
    """

    from tiltmeter.runs.nested_runs import expand_run_folders
    from tiltmeter.runs.result import Result

    runs = expand_run_folders(runs)
    format = _select_format(json=json, csv=csv, latex=latex, html=html, markdown=markdown)
    if layout is not None:
        reject_given_options(context, _NOT_FOR_LAYOUTS, "not for --layout")
        print_layouts(runs, layout, format, bold, attributes, family, fixed)
        return
    reject_given_options(context, _FOR_LAYOUTS, "for --layout")
    if top and (json or csv or latex):
        raise UsageError(
            "--top prints texts and cannot be combined with --json, --csv or --latex; leave out --top, or use "
            "`tiltmeter items`."
        )
    if len(runs) > 1:
        if by is not None or top:
            raise UsageError(
                f"{'--by' if by is not None else '--top'} is for one run, but {len(runs)} runs are given; name one run."
            )
        _print_several_runs(runs, format, measure or [], columns, family, fixed)
        return
    if measure or columns != "language":
        raise UsageError(
            f"{'--measure' if measure else '--columns'} is for several runs, but one run is given; name several runs."
        )
    if by is not None and format:
        raise UsageError(
            f"--by cannot be combined with --{format}; leave out one of them. --csv prints the values for all groups."
        )
    result = Result.load(runs[0])
    result = result if family is None and fixed is None else result.remeasure(family, fixed)
    if format:
        from tiltmeter.reports.record_tables import format_records_csv, format_records_json, format_records_latex

        print(
            {"json": format_records_json, "csv": format_records_csv, "latex": format_records_latex}[format](
                result.records
            )
        )
    else:
        _print_single_run(result, by, top)


def _select_format(**wanted: bool) -> str:
    """Return the wanted format of the output, or an empty text for the terminal."""
    names = [name for name, is_wanted in wanted.items() if is_wanted]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(f'--{name}' for name in names)} cannot be combined; choose one of them.")
    return names[0] if names else ""


def _print_single_run(result: "Result", by: str | None, top: int) -> None:
    from tiltmeter.comparing.strongest_items import select_strongest_items
    from tiltmeter.datasets.name_suggestions import suggest_name
    from tiltmeter.reports.figures.target_forest import SINGLE_TERMS
    from tiltmeter.reports.item_tables import print_strongest

    views = list(dict.fromkeys(record.view for record in result.records))
    if by is not None and by not in views:
        raise UsageError(f"The run has no values by {by}{suggest_name(by, views)}; it has {', '.join(views)}.")
    print_result(result, None, view=by or "all")
    if by == "target":
        typer.echo(SINGLE_TERMS)
    if top:
        print_strongest(select_strongest_items(result, top), create_plain_console())


def _print_several_runs(
    folders: list[Path], format: str, measures: list[str], columns: str, family: str | None, fixed: list[str] | None
) -> None:
    from tiltmeter.api import load_named_runs
    from tiltmeter.reports.record_tables import format_runs_csv, format_runs_json
    from tiltmeter.reports.wide_latex import format_wide_latex
    from tiltmeter.reports.wide_table import GROUPINGS, build_wide_tables
    from tiltmeter.reports.wide_terminal import print_wide_tables

    grouping = parse_choice(columns, GROUPINGS, "--columns") or "language"
    if format in ("json", "csv") and (measures or grouping != "language"):
        ignored = "--measure" if measures else "--columns"
        raise UsageError(f"{ignored} is for tables, but --{format} has all values; leave out {ignored}.")
    runs = load_named_runs(folders)
    if family is not None or fixed is not None:
        runs = [(name, result.remeasure(family, fixed)) for name, result in runs]
    if format in ("json", "csv"):
        records = [(name, result.records) for name, result in runs]
        print(format_runs_json(records) if format == "json" else format_runs_csv(records))
        return
    tables = build_wide_tables(runs, grouping=grouping, measures=measures)
    if format == "latex":
        print(format_wide_latex(tables))
    else:
        print_wide_tables(tables, create_plain_console())
