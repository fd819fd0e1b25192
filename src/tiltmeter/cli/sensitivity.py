"""`tiltmeter sensitivity`: measure how much results depend on irrelevant changes of the items."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.printable_text import create_plain_console, format_json

if TYPE_CHECKING:
    from rich.console import Console

    from tiltmeter.comparing.sensitivity import SensitivityRow
    from tiltmeter.measures.estimates import Interval
    from tiltmeter.measures.measure import Measure


def sensitivity(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Test only this change, such as `lower-case` or `no-final-punctuation`; repeat the option for more. "
            "With `frame`, chat models are asked again with a year, place or audience before each message.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use at most this many items of each part and language.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Measure the models of a run again with slightly changed items, and print how values and verdicts change.

    The changes should not influence results: no final punctuation, lower case, quotation marks, other names; for GEST,
    the other templates of the run. The results are printed, and stored in the notes of the run for `tiltmeter show`.
    With --limit, they are not stored. For chat models, the wordings of the run are compared, and nothing is sent,
    unless you add `--change frame`, which sends each message nine times.

    **Examples**

    `tiltmeter sensitivity runs/demo`

    `tiltmeter sensitivity runs/demo --change lower-case --limit 200`

    `tiltmeter sensitivity runs/plain --change frame --limit 100`
    """

    from tiltmeter.comparing.sensitivity import add_sensitivity_notes, measure_sensitivity
    from tiltmeter.progress.terminal_progress import show_in_terminal
    from tiltmeter.runs.manifest_file import write_manifest
    from tiltmeter.runs.result import Result

    result = Result.load(run)
    rows = measure_sensitivity(
        result, only=change or (), limit=limit, watch=show_in_terminal, tell=lambda text: typer.echo(text, err=True)
    )
    if as_json:
        typer.echo(format_json([row.to_dict() for row in rows]))
    else:
        _print_rows(rows, create_plain_console())
    if limit is None:
        write_manifest(run, add_sensitivity_notes(result.manifest, rows))


def _print_rows(rows: "list[SensitivityRow]", console: "Console") -> None:
    from rich.text import Text

    from tiltmeter.comparing.cells import format_location
    from tiltmeter.measures.measure import get_measure
    from tiltmeter.reports.console_tables import is_wide_terminal, print_fitting_table

    between = " " if is_wide_terminal(console) else "\n"
    for row in rows:
        measure = get_measure(row.measure)
        where = format_location(row.benchmark, row.part, row.language)
        console.print(Text.assemble((row.model, "bold"), f" on {where}"), soft_wrap=True)
        cells = [["as measured", row.verdict, _format_number(measure, row.value, row.interval, between), "", ""]]
        for one in row.variations:
            value = _format_number(measure, one.value, one.interval, between)
            difference = (
                ""
                if one.difference is None
                else _format_number(measure, one.difference, one.difference_interval, between)
            )
            share = "" if one.changed is None else f"{one.changed:.0%}"
            cells.append([one.name, one.verdict, value, difference, share])
        print_fitting_table(console, ("", "verdict", row.measure, "difference", "items\nchanged"), cells, labels=2)
        console.print(Text(f"{row.summary_sentence}\n"))


def _format_number(measure: "Measure", value: float, interval: "Interval | None", between: str) -> str:
    text = measure.number(value)
    return (
        text if interval is None else f"{text}{between}[{measure.number(interval[0])}, {measure.number(interval[1])}]"
    )
