"""`tiltmeter make rate`: rate texts on declared scales."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.make_review import parse_named_values
from tiltmeter.cli.output import print_note
from tiltmeter.errors import DataError, UsageError
from tiltmeter.printable_text import format_json

if TYPE_CHECKING:
    from tiltmeter.making.rating.rating import RatingQuestion, RatingSession


def rate(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A project of written items, or a folder of `gender sample`.")
    ],
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="The rater.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", metavar="ID", help="What is rated.")] = None,
    task: Annotated[str | None, typer.Option(help="The task, such as `gender` or `fit`.")] = None,
    step: Annotated[int | None, typer.Option(min=1, help="The step of the scale, counted from 1.")] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text", metavar="FIELD=TEXT", help="With --step, a better text, which is queued for the review."
        ),
    ] = None,
    comment: Annotated[str, typer.Option(help="Why; kept with the rating.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Withdraw the last rating.")] = False,
    sheet: Annotated[
        Path | None, typer.Option(help="Write all that can be rated now to this .csv file; held for a week.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="With --sheet, at most this many.")] = None,
    release: Annotated[bool, typer.Option("--release", help="Give back what is held for the rater.")] = False,
    read: Annotated[Path | None, typer.Option(help="Read the ratings in a .csv file that --sheet wrote.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Drop the items that raters are against.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Rate texts: print the results; with --by, the next question for a rater; with --step, answer it.

    A label, such as a stereotype, is hidden until the tasks without it are done. The scales and the rule
    by which a text is kept are declared in `rating.toml`. A text that was shown is held for the rater for
    half an hour; nobody rates what they have written.

    **Examples**

    `tiltmeter make rate my-sk --by Ida`

    `tiltmeter make rate my-sk --by Ida --unit w-1 --task gender --step 2 --text "sentence=I swept the floor."`
    """
    from tiltmeter.making.writing.written_item_ratings import drop_rejected, open_rating

    if by is None and apply:
        typer.echo(f"{drop_rejected(folder):,} items dropped")
        return

    with open_rating(folder) as rating:
        if by is None:
            if undo or sheet or read or step or release:
                raise UsageError("Who rates? Give the rater's name with --by.")
            _print_results(rating, as_json=as_json)
        elif undo:
            undone = rating.undo(by)
            typer.echo(f"{undone.unit}: the rating of {undone.task} is withdrawn")
        elif release:
            rating.release(by)
        elif sheet:
            if sheet.exists():
                raise UsageError(f"{sheet} already exists; choose another file.")
            questions = rating.take_all(by, task=task, limit=limit)
            _write_sheet(sheet, questions)
            print_note(f"{len(questions):,} rows written to {sheet}")
        elif read:
            typer.echo(f"{_read_sheet(rating, by, read):,} ratings")
        elif step:
            if unit is None or task is None:
                raise UsageError("A rating needs --unit and --task beside --step.")
            rating.rate(by, unit, task, step, comment, proposed=parse_named_values(text, "--text"))
            typer.echo(f"{unit}: {task} {step}")
        else:
            _print_question(rating.take_question(by, task=task), as_json=as_json)


def _print_question(question: "RatingQuestion | None", *, as_json: bool) -> None:
    if as_json:
        typer.echo(format_json(asdict(question) if question else None))
        return
    if question is None:
        print_note("Nothing is left for this rater.")
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
    """Store the ratings of a sheet, all of them or none; an error names the row."""
    from tiltmeter.making.exchange.csv_table import read_table
    from tiltmeter.making.rating.rating import ImportedRating

    columns, rows = read_table(path)
    if missing := [name for name in ("unit", "task", "step", "proposed", "comment") if name not in columns]:
        raise DataError(f"{path} has no column {missing[0]!r}; write it again with --sheet, and keep the columns.")
    texts = {unit.id: unit.texts for unit in rating.store.units()}
    given = []
    for number, row in rows:
        step, place = row.get("step", "").strip(), f"{path}, row {number}"
        if not step:
            if row.get("proposed", "").strip():
                raise DataError(f"{place}: a proposed text comes with a rating; fill in `step`.")
            continue
        if not step.isdigit():
            raise DataError(f"{place}: {step!r} is not a step of the scale.")
        proposed = _parse_proposal(row.get("proposed", ""), texts.get(row["unit"], {}), place)
        given.append(ImportedRating(place, row["unit"], row["task"], int(step), row.get("comment", ""), proposed))
    return rating.rate_all(by, given)


def _parse_proposal(cell: str, texts: dict[str, str], place: str) -> dict[str, str]:
    """The text that is proposed in a cell: of units with several texts, as `FIELD=TEXT`."""
    if not cell.strip():
        return {}
    field, equals, text = cell.partition("=")
    if equals and field.strip() in texts:
        return {field.strip(): text}
    if len(texts) != 1:
        raise DataError(f"{place}: a proposed text is written FIELD=TEXT; the fields are {', '.join(texts)}.")
    return {next(iter(texts)): cell}
