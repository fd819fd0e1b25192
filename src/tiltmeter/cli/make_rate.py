"""`tiltmeter make rate`: rate texts on the scales of `rating.toml`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.content_notice import print_unread_notice
from tiltmeter.cli.make_options import AsJson
from tiltmeter.cli.make_review import parse_named_values
from tiltmeter.cli.output import print_note
from tiltmeter.errors import DataError, UsageError
from tiltmeter.printable_text import format_json

if TYPE_CHECKING:
    from tiltmeter.making.rating.rating import RatingQuestion, RatingSession


def rate(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="A project of written items, or a folder that `gender sample` wrote."),
    ],
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="The name of the rater.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", metavar="ID", help="The id of the text to rate.")] = None,
    task: Annotated[str | None, typer.Option(help="The rating task, such as `gender` or `fit`.")] = None,
    step: Annotated[
        int | None, typer.Option(min=1, help="The rating: the number of a step of the rating scale, from 1.")
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text", metavar="FIELD=TEXT", help="With --step: propose a better text, which is queued for review."
        ),
    ] = None,
    comment: Annotated[str, typer.Option(help="The reason for the rating, which is stored with it.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Withdraw the last rating of the rater.")] = False,
    sheet: Annotated[
        Path | None,
        typer.Option(help="Write all unanswered questions to this .csv file, and reserve their texts for a week."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="With --sheet: write at most this many questions.")] = None,
    release: Annotated[
        bool, typer.Option("--release", help="Release all texts that are reserved for the rater.")
    ] = False,
    read: Annotated[Path | None, typer.Option(help="Read ratings from a .csv file that --sheet wrote.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Without --by: drop the items that raters rejected.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the results of the ratings; with --by, print the next question for a rater; with --step, answer it.

    `rating.toml` contains the rating scales and the rule for keeping a text. Labels, such as the stereotype, are hidden
    until the rater has finished the tasks without labels. A printed text is reserved for the rater for half an hour.
    Writers do not rate their own texts.

    **Examples**

    `tiltmeter make rate my-sk --by Ida`

    `tiltmeter make rate my-sk --by Ida --unit w-1 --task gender --step 2 --text "sentence=I swept the floor."`
    """
    from tiltmeter.making.writing.written_item_ratings import drop_rejected, open_rating

    if by is None and apply:
        typer.echo(f"{drop_rejected(folder):,} items dropped")
        return
    if by is not None and not (undo or release or read or step):
        _print_notice(folder, by)
    with open_rating(folder) as rating:
        if by is None:
            if undo or sheet or read or step or release:
                raise UsageError("--by is missing; give the name of the rater.")
            _print_results(rating, as_json=as_json)
        elif undo:
            undone = rating.undo_last_rating(by)
            typer.echo(f"{undone.unit}: rating of {undone.task} withdrawn")
        elif release:
            rating.release_reservations(by)
        elif sheet:
            if sheet.exists():
                raise UsageError(f"{sheet} already exists; choose another file.")
            questions = rating.take_all_questions(by, task=task, limit=limit)
            _write_sheet(sheet, questions)
            print_note(f"{len(questions):,} rows written to {sheet}")
        elif read:
            typer.echo(f"{_read_sheet(rating, by, read):,} ratings")
        elif step:
            if unit is None or task is None:
                raise UsageError(
                    "--step needs --unit and --task; `make rate FOLDER --by NAME` prints the next unit and task."
                )
            rating.rate_unit(by, unit, task, step, comment, proposed=parse_named_values(text, "--text"))
            typer.echo(f"{unit}: {task} {step}")
        else:
            _print_question(rating.take_question(by, task=task), as_json=as_json)


def _print_notice(folder: Path, by: str) -> None:
    from tiltmeter.making.item_makers import WRITTEN
    from tiltmeter.making.project import open_project
    from tiltmeter.making.project_settings import SETTINGS

    # The folder of a sample from `gender sample` has no guidelines, and no table that records who has read the notice.
    if (folder / SETTINGS).exists():
        with open_project(folder) as project:
            if project.settings.system == WRITTEN:
                print_unread_notice(project, by)


def _print_question(question: "RatingQuestion | None", *, as_json: bool) -> None:
    if as_json:
        typer.echo(format_json(asdict(question) if question else None))
        return
    if question is None:
        print_note("There are no more texts for this rater.")
        return
    typer.echo(f"{question.unit} · {question.task.name}")
    for name, text in question.texts.items():
        typer.echo(f"{name}: {text}")
    if question.label is not None:
        typer.echo(f"label: {question.label}")
    typer.echo(question.task.question)
    for number, name in enumerate(question.task.steps, start=1):
        typer.echo(f"  {number} {name}")


def _print_results(rating: "RatingSession", *, as_json: bool) -> None:
    results = rating.compute_results()
    counts = {name: list(results.outcomes.values()).count(name) for name in ("keep", "drop", "open")}
    if as_json:
        agreement = {task: found.to_json() for task, found in results.agreement.items()}
        values = {"outcomes": results.outcomes, "agreement": agreement, "raters": results.raters}
        typer.echo(format_json(values))
        return
    typer.echo(", ".join(f"{count:,} {name}" for name, count in counts.items()))
    for name, count in results.raters.items():
        typer.echo(f"{name}: {count:,} ratings")
    for task, found in results.agreement.items():
        typer.echo(f"{task}: {found}")


_COLUMNS = ("unit", "task", "text", "label", "question", "steps", "step", "proposed", "comment")


def _write_sheet(path: Path, questions: "list[RatingQuestion]") -> None:
    from tiltmeter.making.exchange.csv_table import write_table

    rows = [
        {
            "unit": question.unit,
            "task": question.task.name,
            "text": " / ".join(question.texts.values()),
            "label": question.label or "",
            "question": question.task.question,
            "steps": "; ".join(f"{number} {name}" for number, name in enumerate(question.task.steps, start=1)),
        }
        for question in questions
    ]
    write_table(path, _COLUMNS, rows)


def _read_sheet(rating: "RatingSession", by: str, path: Path) -> int:
    """Store all ratings of a sheet, and return the number of ratings; if a row is invalid, store no rating."""
    from tiltmeter.making.exchange.csv_table import read_table
    from tiltmeter.making.rating.rating import ImportedRating

    columns, rows = read_table(path)
    if missing := [name for name in ("unit", "task", "step", "proposed", "comment") if name not in columns]:
        raise DataError(f"{path} has no column {missing[0]!r}; write a new file with --sheet, and keep its columns.")
    texts = {unit.id: unit.texts for unit in rating.store.list_units()}
    ratings = []
    for number, row in rows:
        step, place = row.get("step", "").strip(), f"{path}, row {number}"
        if not step:
            if row.get("proposed", "").strip():
                raise DataError(f"{place}: `proposed` has a text but `step` is empty; fill in `step`.")
            continue
        if not step.isdigit():
            raise DataError(f"{place}: `step` is {step!r}; write the number of a step of the scale.")
        proposed = _parse_proposal(row.get("proposed", ""), texts.get(row["unit"], {}), place)
        ratings.append(ImportedRating(place, row["unit"], row["task"], int(step), row.get("comment", ""), proposed))
    return rating.rate_units(by, ratings)


def _parse_proposal(cell: str, texts: dict[str, str], place: str) -> dict[str, str]:
    """Return a dictionary from the field to the proposed text in a cell of the sheet; empty if the cell is empty.

    If a text has several fields, the cell contains `FIELD=TEXT`.
    """
    if not cell.strip():
        return {}
    field, equals, text = cell.partition("=")
    if equals and field.strip() in texts:
        return {field.strip(): text}
    if len(texts) != 1:
        raise DataError(f"{place}: `proposed` must be FIELD=TEXT; the fields are {', '.join(texts)}.")
    return {next(iter(texts)): cell}
