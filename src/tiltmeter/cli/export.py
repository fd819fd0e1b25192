"""`tiltmeter export`: write the results of a run in the format of another tool."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.reports.exports import FORMATS, ExportOptions, list_formats


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    to: Annotated[
        str,
        typer.Option("--to", metavar="FORMAT", help=f"The format: {', '.join(FORMATS)}, or the format of a plug-in."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write to this file instead of standard output.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model to export; needed if the run has several models.")
    ] = None,
    dataset_id: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="For `hf-eval-results`: the hub id of the data set.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file of --out.")] = False,
) -> None:
    """Write the results of a run in the format of another tool.

    For example, `model-card` writes the `model-index` of a model card on Hugging Face, and `lm-eval` writes a results
    file of the Language Model Evaluation Harness. `items` is a CSV table of all items, and `bibtex` lists the papers to
    cite. docs/how-to/exports.md describes all formats.

    **Examples**

    `tiltmeter export runs/bert --to model-card`

    `tiltmeter export runs/bert --to lm-eval --out results.json`

    `tiltmeter export runs/bert --to items --out items.csv`

    `tiltmeter export runs/bert --to hf-eval-results --dataset-id my-name/stereoset --out .eval_results/stereoset.yaml`
    """
    from tiltmeter.files import reject_unwritable_file, write_text
    from tiltmeter.runs.result import Result

    formats = list_formats()
    if to not in formats:
        raise UsageError(f"There is no export format {to!r}{suggest_name(to, formats)}; choose {', '.join(formats)}.")
    if out is not None:
        reject_unwritable_file(out)
        if out.exists() and not force:
            raise UsageError(f"{out} already exists; choose another file, or replace it with --force.")
    text = formats[to](Result.load(run), ExportOptions(model=model, dataset_id=dataset_id))
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    typer.echo(f"Written to {out}", err=True)
