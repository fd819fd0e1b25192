"""`tiltmeter make write`: add items that people have written."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.content_notice import print_unread_notice
from tiltmeter.cli.make_review import parse_named_values
from tiltmeter.cli.output import print_note
from tiltmeter.errors import DataError, UsageError

if TYPE_CHECKING:
    from tiltmeter.making.writing.written_items import WrittenText

Folder = Annotated[
    Path, typer.Argument(metavar="PROJECT", help="The folder of a project that was created with --from-scratch.")
]


def write(
    folder: Folder,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="The name of the writer.")] = None,
    about: Annotated[
        str | None,
        typer.Option(
            metavar="SUBJECT", help="The subject of the item: the number of a stereotype, or the name of a target."
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text",
            metavar="FIELD=TEXT",
            help="A text of the item, such as `sentence=I slept.`; repeat the option for more.",
        ),
    ] = None,
    read: Annotated[
        Path | None,
        typer.Option(help="Read items from a .csv or .jsonl file with the column `about` and a column for each text."),
    ] = None,
) -> None:
    """Add items that people have written; without --by, print the number of items per writer and subject.

    Each item is checked, and problems are queued for review. A GEST sentence should be in the first person and show no
    gender in the source language, and its translation should show a gender. If a row of a file is invalid, no item of
    the file is added. Items that exist already are skipped.

    **Examples**

    `tiltmeter make write my-sk --by Ana --about 3 --text "sentence=I slept." --text "translation=Spala som."`

    `tiltmeter make write my-sk --by Ana --read ana.csv`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.writing.writing_checks import list_missing_checks
    from tiltmeter.making.writing.written_items import (
        WrittenText,
        add_written_items,
        count_written_items,
        load_writing_plan,
    )

    with open_project(folder) as project:
        load_writing_plan(project)
        if by is None:
            if about or text or read:
                raise UsageError("--by is missing; give the name of the writer.")
            counts, plan = count_written_items(project), load_writing_plan(project)
            if not plan.writers:
                print_note(f"There are no writers; add their names to `writers` in {folder / 'writing.toml'}.")
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
        print_unread_notice(project, by)
        for written in add_written_items(project, by, rows):
            note = "; ".join(finding.reason for finding in written.findings)
            if not written.is_new:
                note = "exists already"
            typer.echo(f"{written.item}{f': {note}' if note else ''}")
        for line in list_missing_checks(project.settings):
            print_note(line)


def _read_rows(path: Path) -> "list[WrittenText]":
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
                    raise DataError(f"{path}, line {number}: expected a JSON object with the key 'about'.")
                rows.append(WrittenText(f"{path}, line {number}", str(values.pop("about")), values))
        return rows
    columns, table = read_table(path)
    if "about" not in columns:
        raise DataError(f"{path} has no column 'about'; add this column, with the stereotype or target of each item.")
    return [
        WrittenText(
            f"{path}, row {number}",
            row.get("about", ""),
            {name: value for name, value in row.items() if name != "about" and value},
        )
        for number, row in table
    ]
