"""`tiltmeter make rate`: rate texts on declared scales."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.output import print_note
from tiltmeter.errors import DataError, UsageError

if TYPE_CHECKING:
    from tiltmeter.making.rating import Rating, RatingQuestion


def rate(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A project of written items, or a folder of `gender sample`.")
    ],
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="The rater.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", metavar="ID", help="What is rated.")] = None,
    task: Annotated[str | None, typer.Option(help="The task, such as `gender` or `fit`.")] = None,
    step: Annotated[int | None, typer.Option(min=1, help="The step of the scale, counted from 1.")] = None,
    comment: Annotated[str, typer.Option(help="A comment, or an edit that you propose.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Withdraw the last rating.")] = False,
    sheet: Annotated[Path | None, typer.Option(help="Write all that can be rated now to this .csv file.")] = None,
    read: Annotated[Path | None, typer.Option(help="Read the ratings in a .csv file that --sheet wrote.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Drop the items that raters are against.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Rate texts: print the results; with --by, the next question for a rater; with --step, answer it.

    A label, such as a stereotype, is hidden until the tasks without it are done. The scales and the rule
    by which a text is kept are declared in `rating.toml`.

    **Examples**

    `tiltmeter make rate my-sk --by Ana`

    `tiltmeter make rate my-sk --by Ana --unit w-1 --task gender --step 2`
    """
    from tiltmeter.making.writing import drop_rejected, open_rating

    with open_rating(folder) as rating:
        if by is None:
            if undo or sheet or read or step:
                raise UsageError("Who rates? Give the rater's name with --by.")
            if apply:
                typer.echo(f"{drop_rejected(folder):,} items dropped")
            else:
                _print_results(rating, as_json=as_json)
        elif undo:
            undone = rating.undo(by)
            typer.echo(f"{undone.unit}: the rating of {undone.task} is withdrawn")
        elif sheet:
            questions = rating.questions(by, task)
            _write_sheet(sheet, questions)
            print_note(f"{len(questions):,} rows written to {sheet}")
        elif read:
            typer.echo(f"{_read_sheet(rating, by, read):,} ratings")
        elif step:
            if unit is None or task is None:
                raise UsageError("A rating needs --unit and --task beside --step.")
            rating.rate(by, unit, task, step, comment)
        else:
            _print_question(rating.next_question(by, task=task), as_json=as_json)


def _print_question(question: "RatingQuestion | None", *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(question) if question else None, ensure_ascii=False, indent=1))
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


def _print_results(rating: "Rating", *, as_json: bool) -> None:
    results = rating.results()
    counts = {name: list(results.outcomes.values()).count(name) for name in ("keep", "drop", "open")}
    if as_json:
        agreement = {task: found.as_json() for task, found in results.agreement.items()}
        values = {"outcomes": results.outcomes, "agreement": agreement, "raters": results.raters}
        typer.echo(json.dumps(values, ensure_ascii=False, indent=1))
        return
    typer.echo(", ".join(f"{count:,} {name}" for name, count in counts.items()))
    for name, count in results.raters.items():
        typer.echo(f"{name}: {count:,} ratings")
    for task, found in results.agreement.items():
        typer.echo(f"{task}: {found}")


_COLUMNS = ("unit", "task", "text", "label", "question", "steps", "step", "comment")


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


def _read_sheet(rating: "Rating", by: str, path: Path) -> int:
    """Store the ratings of a sheet; an error names the row, and the rows before it are stored."""
    from tiltmeter.making.exchange.csv_table import read_table

    columns, rows = read_table(path)
    if missing := [name for name in ("unit", "task", "step") if name not in columns]:
        raise DataError(f"{path} has no column {missing[0]!r}; write it again with --sheet, and keep the columns.")
    done = 0
    for number, row in rows:
        step = row["step"].strip()
        if not step:
            continue
        if not step.isdigit():
            raise DataError(f"{path}, row {number}: {step!r} is not a step of the scale.")
        already = rating.steps(row["task"]).get(row["unit"], {}).get(by)
        if already == int(step):
            continue  # an earlier import of the same file
        try:
            rating.rate(by, row["unit"], row["task"], int(step), row.get("comment", ""))
        except UsageError as error:
            raise DataError(f"{path}, row {number}: {error}") from error
        done += 1
    return done
