"""`tiltmeter sensitivity`: how much a result moves under changes that should not matter."""

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
        typer.Option(metavar="NAME", help="Only this change: `lower-case`, `no-final-punctuation` … (repeatable)."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask about so many items of each part and language only.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Ask the models of a run again about slightly changed items, and tell how far the numbers and verdicts move.

    The changes should not matter: no full stop at the end, small letters only, quotation marks, other names; of GEST,
    the templates of the run itself. What is found is kept in the run's notes, and printed with its numbers from then
    on; with --limit, which is another sample, it is only printed.

    **Examples**

    `tiltmeter sensitivity runs/demo`

    `tiltmeter sensitivity runs/demo --change lower-case --limit 200`
    """

    from tiltmeter.cli.progress import show_answer_progress
    from tiltmeter.comparing.sensitivity import measure_sensitivity as measured
    from tiltmeter.comparing.sensitivity import with_sensitivity_notes
    from tiltmeter.runs.file_digests import with_own_digest
    from tiltmeter.runs.result import Result, write_manifest
    from tiltmeter.runs.run_files import MANIFEST

    result = Result.load(run)
    rows = measured(
        result, only=change or (), limit=limit, watch=show_answer_progress, tell=lambda text: typer.echo(text, err=True)
    )
    if as_json:
        typer.echo(format_json([row.to_dict() for row in rows]))
    else:
        _print_rows(rows, create_plain_console())
    if limit is None:
        noted = with_sensitivity_notes(result.manifest, rows)
        # A manifest that was changed by hand before stays one.
        write_manifest(run, noted if MANIFEST in result.changed else with_own_digest(noted))


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
            moved = (
                ""
                if one.difference is None
                else _format_number(measure, one.difference, one.difference_interval, between)
            )
            share = "" if one.changed is None else f"{one.changed:.0%}"
            cells.append([one.name, one.verdict, value, moved, share])
        print_fitting_table(console, ("", "verdict", row.measure, "difference", "items\nchanged"), cells, labels=2)
        console.print(Text(f"{row.sentence}\n"))


def _format_number(measure: "Measure", value: float, ends: "Interval | None", between: str) -> str:
    text = measure.number(value)
    return text if ends is None else f"{text}{between}[{measure.number(ends[0])}, {measure.number(ends[1])}]"
