"""`tiltmeter make terms`: the forms of each target term, and one decision for all items with a form."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.make_options import Folder
from tiltmeter.cli.output import print_note
from tiltmeter.errors import UsageError

_SHOWN = 20


def terms(
    folder: Folder,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write all forms to this CSV file, with an empty column `use`."),
    ] = None,
    fix: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Replace the forms by the forms that you entered in the column `use`."),
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Your name, which is stored in the history of each item.")
    ] = "",
) -> None:
    """Print the forms of the translated target terms: how many items have a form, and how many contexts lack it.

    One decision can settle all items with a form: write the forms to a file with --out, enter in the column `use` the
    form that the items should have, and apply the file with --fix. An item is changed only if its context contains the
    new form and nobody has reviewed the item.

    **Examples**

    `tiltmeter make terms my-es --out terms.csv`

    `tiltmeter make terms my-es --fix terms.csv --by Ana`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.term_forms import apply_term_decisions, list_term_forms, write_term_forms

    if fix is not None and not by:
        raise UsageError("--by is missing; give your name, which is stored in the history of the items.")
    with open_project(folder) as project:
        if fix is not None:
            done = apply_term_decisions(project, fix, by=by)
            typer.echo(f"{done.changed:,} items changed; {done.left:,} contexts do not contain the new form")
        if out is not None:
            count = write_term_forms(project, out)
            print_note(f"Written to {out}: {count:,} forms")
        if out is None and fix is None:
            forms = list_term_forms(project)
            typer.echo(f"{'items':>7}{'not in context':>16}  source term -> form")
            for one in forms[:_SHOWN]:
                typer.echo(f"{len(one.items):>7,}{len(one.missing):>16,}  {one.source_term} -> {one.form}")
            if len(forms) > _SHOWN:
                typer.echo(f"{'':>25}and {len(forms) - _SHOWN} more forms; write all with --out")
