"""`tiltmeter score`: measure predictions that somebody published."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_result


def score(
    predictions: Annotated[Path, typer.Option("--predictions", help="The file with the predictions.")],
    form: Annotated[str, typer.Option("--as", help="Its format: `stereotypes-multi`.")],
    on: Annotated[str, typer.Option("--on", metavar="BENCHMARK", help="What was predicted: `stereoset:de`.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder to write the run to.")] = None,
    model: Annotated[str | None, typer.Option(help="The name of the model; the file's name if not given.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite another run in the folder.")] = False,
) -> None:
    """Make a run of predictions that were published, without the model.

    **Example**

    `tiltmeter score --predictions gpt2_GPT2LM_GPT2LM_d_en.json --as stereotypes-multi --on stereoset:en`
    """
    from tiltmeter.runs import score_predictions

    result = score_predictions(predictions, form=form, on=on, model=model, out=out, force=force)
    print_result(result, out)
