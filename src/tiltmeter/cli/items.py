"""`tiltmeter items`: how good the items are as a test, from runs of several models."""

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
        list[Path] | None, typer.Argument(metavar="RUN", help="Folders of runs, or with runs below them.")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Published predictions instead: a folder of files that end in _LANGUAGE.json."
        ),
    ] = None,
    form: Annotated[str, typer.Option("--as", help="The format of the predictions.")] = "stereotypes-multi",
    on: Annotated[
        str, typer.Option("--on", metavar="BENCHMARK", help="The data set of the predictions.")
    ] = "stereoset",
    top: Annotated[int, typer.Option(min=0, help="Print so many of the strongest items, with their texts.")] = 0,
    suspects: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Write the items that a person should look at, as corrections to fill in for `tiltmeter make source`.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Judge items by what several models do on them: reliability, items that separate models, suspects, languages.

    At least three models must have been measured on the same items. Items that all models get wrong, or on which models
    do the opposite of what they do elsewhere, are suspects: often the item is at fault, not the models.

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
        raise UsageError("Give folders of runs, or --predictions with a folder of published predictions.")
    found = (
        [(str(run), Result.load(run)) for run in expand_run_folders(runs or ())]
        if predictions is None
        else _score_predictions(predictions, form, on)
    )
    quality = assess_item_quality(found)
    if as_json:
        typer.echo(format_json(quality.to_dict()))
    else:
        print_item_quality(quality, create_plain_console(), top=top)
    if suspects is not None:
        _write_suspects(quality, suspects)


def _score_predictions(folder: Path, form: str, on: str) -> "list[tuple[str, Result]]":
    """The runs of a folder of published predictions; the language of each is at the end of its name."""
    from tiltmeter.runs.prediction_run import score_predictions

    files = sorted(folder.glob("*_*.json")) if folder.is_dir() else []
    if not files:
        raise UsageError(f"{folder} has no files that end in _LANGUAGE.json, such as gpt2_GPT2LM_GPT2LM_d_en.json.")
    return [(file.stem, score_predictions(file, form=form, on=f"{on}:{file.stem.rsplit('_', 1)[1]}")) for file in files]


def _write_suspects(quality: "ItemQuality", path: Path) -> None:
    from tiltmeter.making.exchange.csv_table import write_table
    from tiltmeter.making.source_corrections import CORRECTION_COLUMNS

    found = quality.list_suspects()
    texts = {
        (one.panel.cells[0].benchmark, one.panel.language, item): " / ".join([text.context, *text.texts.values()])
        for one in quality.panels
        for item, text in quality.texts(one).items()
    }
    rows = [
        {
            "item": suspect.item,
            "problem": f"{suspect.language}: {suspect.reason}",
            "source": texts.get((suspect.benchmark, suspect.language, suspect.item), ""),
        }
        for suspect in found
    ]
    write_table(path, CORRECTION_COLUMNS, rows)
    typer.echo(f"{len(rows)} suspects are in {path}; fill in action, field, text and reason.", err=True)
