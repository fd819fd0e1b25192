"""`tiltmeter make write`: items written by people."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.make_review import parse_named_values
from tiltmeter.cli.output import print_note
from tiltmeter.errors import DataError, UsageError

if TYPE_CHECKING:
    from tiltmeter.making.writing.written_items import WrittenText

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
    translation should show a gender. What is found is queued for the review. A file is stored as a whole or not at
    all, and what is there already is not stored again.

    **Examples**

    `tiltmeter make write my-sk --by Ana --about 3 --text "sentence=I slept." --text "translation=Spala som."`

    `tiltmeter make write my-sk --by Ana --read ana.csv`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.writing.writing_checks import list_missing_checks
    from tiltmeter.making.writing.written_items import WrittenText, add_written_items, count_written, load_writing_plan

    with open_project(folder) as project:
        load_writing_plan(project)
        if by is None:
            if about or text or read:
                raise UsageError("Who wrote it? Give the writer's name with --by.")
            counts, plan = count_written(project), load_writing_plan(project)
            if not plan.writers:
                print_note(f"Nobody writes yet; name `writers` in {folder / 'writing.toml'}.")
            for subject in plan.subjects:
                cells = [f"{name} {counts[name, subject.key]:,} of {subject.quota:,}" for name in plan.writers]
                typer.echo(f"{subject.key}\t{subject.name}\t{', '.join(cells)}")
            return
        if read is not None:
            rows = list(_read_rows(read))
        elif about is not None and text:
            rows = [WrittenText("", about, dict(parse_named_values(text, "--text")))]
        else:
            raise UsageError("Give --about and --text, or a file with --read.")
        for written in add_written_items(project, by, rows):
            found = "; ".join(finding.reason for finding in written.findings)
            if not written.is_new:
                found = "it was there already"
            typer.echo(f"{written.item}{f': {found}' if found else ''}")
        for line in list_missing_checks(project.settings):
            print_note(line)


def _read_rows(path: Path) -> "list[WrittenText]":
    """The items in a file."""
    from tiltmeter.datasets.raw_records import BrokenFileError
    from tiltmeter.datasets.readers.decoded_text import read_text
    from tiltmeter.making.exchange.csv_table import read_table
    from tiltmeter.making.writing.written_items import WrittenText
    from tiltmeter.text_files import parse_json, split_lines

    if path.suffix == ".jsonl":
        try:
            lines = split_lines(read_text(path))
        except BrokenFileError as error:
            raise DataError(f"{path} {error}.") from error
        rows = []
        for number, line in enumerate(lines, start=1):
            if line.strip():
                values = parse_json(line, f"{path}, line {number},")
                if not isinstance(values, dict) or "about" not in values:
                    raise DataError(f"{path}, line {number} is not a JSON object with `about`.")
                rows.append(WrittenText(f"{path}, line {number}", str(values.pop("about")), values))
        return rows
    columns, table = read_table(path)
    if "about" not in columns:
        raise DataError(f"{path} has no column 'about', which names the stereotype or target.")
    return [
        WrittenText(
            f"{path}, row {number}",
            row.get("about", ""),
            {name: value for name, value in row.items() if name != "about" and value},
        )
        for number, row in table
    ]
