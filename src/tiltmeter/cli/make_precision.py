"""`tiltmeter make precision`: the precision of repair rules, packaged and from the decisions of reviewers."""

from typing import Annotated

import typer

from tiltmeter.cli.make_options import Folder
from tiltmeter.cli.output import print_note


def precision(
    folder: Folder,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Write the rules with enough decisions to the project's `precision.toml`, which `make repair` uses.",
        ),
    ] = False,
) -> None:
    """Print how many changes of each repair rule were right when people read them, in general and in this project.

    `make repair` applies the changes of a rule without asking only if at least 98% of at least 20 changes were right.
    In the project, a change is right if reviewers kept it or accepted it as a proposal.

    **Examples**

    `tiltmeter make precision my-es`

    `tiltmeter make precision my-es --record`
    """
    from tiltmeter.making.measured_precision import measure_precision, record_precision
    from tiltmeter.making.project import open_project
    from tiltmeter.making.repair.rule_precision import LEAST_READ, PROJECT_FILE, read_project_precision

    with open_project(folder) as project:
        measured = measure_precision(project)
        recorded = record_precision(project, measured) if record else []
        used = read_project_precision(project.folder, project.settings.language)
    typer.echo(f"{'rule':<28}{'used by make repair':<24}{'proven':<9}decisions of reviewers")
    for rule in sorted({*used, *measured}):
        known, own = used.get(rule), measured.get(rule)
        proven = "yes" if known and known.is_proven else "no"
        typer.echo(f"{rule:<28}{known or 'not measured'!s:<24}{proven:<9}{own or ''}".rstrip())
    if record:
        if recorded:
            print_note(f"Written to {folder / PROJECT_FILE}: {', '.join(entry.rule for entry in recorded)}")
        else:
            print_note(f"Nothing was written, because no rule has {LEAST_READ} decisions.")
