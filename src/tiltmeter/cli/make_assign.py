"""`tiltmeter make assign`: assign items to reviewers, and hold a calibration round."""

from typing import Annotated

import typer

from tiltmeter.cli.make_options import AsJson, Folder
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import format_json


def assign(
    folder: Folder,
    reviewer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=VARIETY[*SHARE]]",
            help="A reviewer, with the variety of the language and the relative number of items, such as "
            "`Ana=es-MX*0.5`; repeat the option for each reviewer.",
        ),
    ] = None,
    calibration: Annotated[
        int, typer.Option(min=0, help="The number of items that all reviewers decide on first; 0 for none.")
    ] = 30,
    open_rest: Annotated[
        bool, typer.Option("--open", help="Open the other items after the calibration round.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Assign the items to reviewers by variety and load; without --reviewer, print the calibration round.

    All reviewers first decide on the same items. The other items are closed until the agreement on these items is
    printed and --open is given. Each of the other items gets reviewers of different varieties, if possible.

    **Examples**

    `tiltmeter make assign my-es --reviewer Ana=es-MX --reviewer "Eva=es-ES*2"`

    `tiltmeter make assign my-es`

    `tiltmeter make assign my-es --open`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.review.assignment import assign_items, open_items, parse_profile, summarise_calibration

    if reviewer and open_rest:
        raise UsageError("--open and --reviewer exclude each other; first assign the items, later open them.")
    with open_project(folder) as project:
        counts: dict[str, int] = {}
        if reviewer:
            counts = assign_items(project, [parse_profile(text) for text in reviewer], calibration=calibration)
        if open_rest:
            open_items(project)
        status = summarise_calibration(project)
    if as_json:
        typer.echo(format_json({"assigned": counts, "calibration": status.to_json() if status else None}))
        return
    for name, count in counts.items():
        typer.echo(f"{name}: {count:,} items")
    for line in status.format_lines() if status else ["The project has no calibration round."]:
        typer.echo(line)
