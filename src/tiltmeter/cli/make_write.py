"""`tiltmeter make write`: items written by people."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.make_review import named_values
from tiltmeter.errors import DataError, UsageError

Folder = Annotated[Path, typer.Argument(metavar="PROJECT", help="A project that was started with --from-scratch.")]


def write(
    folder: Folder,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="The writer.")] = None,
    about: Annotated[
        str | None, typer.Option(metavar="SUBJECT", help="The number of a stereotype, or the name of a target.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", metavar="FIELD=TEXT", help="A text of the item: `sentence=…`.")
    ] = None,
    read: Annotated[
        Path | None,
        typer.Option(help="A .csv file of items, with the column `about` and the texts; or .jsonl, for any form."),
    ] = None,
) -> None:
    """Add written items; without a name, print how many each writer has written for each subject.

    Each item is checked: a GEST sentence should be in the first person, neutral in the source language, and its
    translation should show a gender. What is found is queued for the review.

    **Examples**

    `tiltmeter make write my-sk --by Ana --about 3 --text "sentence=I slept." --text "translation=Spala som."`

    `tiltmeter make write my-sk --by Ana --read ana.csv`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.writing import add_written, plan_of, written_by

    with open_project(folder) as project:
        if by is None:
            counts, plan = written_by(project), plan_of(project)
            for subject in plan.subjects:
                cells = [f"{name} {counts[name, subject.key]:,} of {subject.quota:,}" for name in plan.writers]
                typer.echo(f"{subject.key}\t{subject.name}\t{', '.join(cells)}")
            return
        if read is not None:
            rows = list(_rows(read))
        elif about is not None and text:
            rows = [("", about, dict(named_values(text, "--text")))]
        else:
            raise UsageError("Give --about and --text, or a file with --read.")
        for place, subject_name, values in rows:
            try:
                written = add_written(project, by, subject_name, values)
            except UsageError as error:
                raise DataError(f"{read}, {place}: {error}" if place else str(error)) from error
            found = "; ".join(finding.reason for finding in written.findings)
            typer.echo(f"{written.item}{f': {found}' if found else ''}")


def _rows(path: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """The items in a file: their place, subject and values."""
    import json

    from tiltmeter.datasets.readers.file_text import read_text
    from tiltmeter.making.exchange.csv_table import read_table

    if path.suffix == ".jsonl":
        if not path.is_file():
            raise UsageError(f"There is no file {path}.")
        rows = []
        for number, line in enumerate(read_text(path).splitlines(), start=1):
            if line.strip():
                try:
                    values = json.loads(line)
                    rows.append((f"line {number}", str(values.pop("about")), values))
                except (ValueError, KeyError, AttributeError) as error:
                    raise DataError(f"{path}, line {number}: not a JSON object with `about` ({error}).") from error
        return rows
    columns, table = read_table(path)
    if "about" not in columns:
        raise DataError(f"{path} has no column 'about', which names the stereotype or target.")
    return [
        (f"row {number}", row["about"], {name: value for name, value in row.items() if name != "about" and value})
        for number, row in table
    ]
