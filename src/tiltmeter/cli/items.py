"""`tiltmeter items`: analyse items with the runs of several models."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console, format_json

if TYPE_CHECKING:
    from tiltmeter.comparing.item_quality import ItemQuality
    from tiltmeter.runs.result import Result


def items(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN", help="Folders of runs, or folders that contain runs.")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Use the files of published predictions in this folder instead of runs. File names end in "
            "_LANGUAGE.json, or --on names the language. Files that cannot be used are skipped and listed.",
        ),
    ] = None,
    form: Annotated[
        str, typer.Option("--as", help="With --predictions: the format of the prediction files.")
    ] = "stereotypes-multi",
    on: Annotated[
        str, typer.Option("--on", metavar="BENCHMARK", help="With --predictions: the data set of the predictions.")
    ] = "stereoset",
    top: Annotated[
        int,
        typer.Option(
            min=0, help="Also print this number of items with the strongest preference for the stereotype, with texts."
        ),
    ] = 0,
    suspects: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Write suspicious items to this file, with empty columns for corrections; `tiltmeter make source "
            "--fix` applies the corrections.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Analyse items over several models: reliability, discrimination, suspicious items, differences by language.

    At least three models must have been measured on the same items. A model that was measured with several protocols
    counts once, and so do models with identical scores. An item is suspicious if all models get it wrong, or if its
    results contradict those of the other items: often such an item contains an error.

    **Examples**

    `tiltmeter items runs/bert runs/roberta runs/gpt2 --top 20`

    `tiltmeter items runs/* --suspects suspects.csv`

    `tiltmeter items --predictions results/predictions --as stereotypes-multi --on stereoset`
    """

    from tiltmeter.comparing.item_quality import assess_item_quality
    from tiltmeter.reports.item_tables import print_item_quality
    from tiltmeter.runs.nested_runs import expand_run_folders
    from tiltmeter.runs.result import Result

    if bool(runs) == bool(predictions):
        raise UsageError("Give either folders of runs, or a folder of published predictions with --predictions.")
    results = (
        [(str(run), Result.load(run)) for run in expand_run_folders(runs or ())]
        if predictions is None
        else _score_predictions(predictions, form, on)
    )
    quality = assess_item_quality(results)
    if as_json:
        typer.echo(format_json(quality.to_dict()))
    else:
        print_item_quality(quality, create_plain_console(), top=top)
    if suspects is not None:
        _write_suspects(quality, suspects)


def _score_predictions(folder: Path, form: str, on: str) -> "list[tuple[str, Result]]":
    """Score all published predictions in a folder, and return their names and results."""
    from tiltmeter.cli.output import print_note
    from tiltmeter.progress.terminal_progress import show_in_terminal
    from tiltmeter.runs.prediction_folder import score_prediction_folder

    skipped: list[tuple[Path, str]] = []
    with show_in_terminal(f"Predictions in {folder}") as report:
        results = list(
            score_prediction_folder(folder, form, on, report, lambda file, reason: skipped.append((file, reason)))
        )
    for file, reason in skipped:
        print_note(f"Skipped: {file.name}. {reason}")
    if not results:
        raise UsageError(f"None of the {len(skipped)} files in {folder} can be used; the reasons are listed above.")
    return results


def _write_suspects(quality: "ItemQuality", path: Path) -> None:
    from tiltmeter.making.exchange.csv_table import write_table
    from tiltmeter.making.source_corrections import CORRECTION_COLUMNS

    texts = {
        (one.panel.cells[0].benchmark, one.panel.language, item): " / ".join([text.context, *text.texts.values()])
        for one in quality.panels
        for item, text in quality.load_item_texts(one).items()
    }
    rows = [
        {
            "item": suspect.item,
            "problem": f"{suspect.language}: {suspect.reason}",
            "source": texts.get((suspect.benchmark, suspect.language, suspect.item), ""),
        }
        for suspect in quality.list_suspects()
    ]
    write_table(path, CORRECTION_COLUMNS, rows)
    typer.echo(
        f"{len(rows)} suspicious items written to {path}; fill in the columns action, field, text and reason.", err=True
    )
