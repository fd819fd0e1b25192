"""`tiltmeter score`: measure published predictions."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import parse_choice, parse_margins, print_result


def score(
    predictions: Annotated[
        Path, typer.Option("--predictions", help="The file with the predictions; for `gest`, see the examples.")
    ],
    form: Annotated[str, typer.Option("--as", help="Its format: `stereotypes-multi` or `gest`.")],
    on: Annotated[
        str, typer.Option("--on", metavar="BENCHMARK", help="The data set of the predictions: `stereoset:de`.")
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder to write the run to.")] = None,
    model: Annotated[str | None, typer.Option(help="The name of the model; the file's name if not given.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="`masked`, `causal` or `seq2seq`; read from the file's name if not given.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="The protocol, such as `published/c`; read from the file's name if not given.")
    ] = None,
    margin: Annotated[
        list[str] | None, typer.Option(metavar="MEASURE=NUMBER", help="A margin of equivalence: `SS=3`.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite another run in the folder.")] = False,
) -> None:
    """Make a run from published predictions, without the model.

    **Examples**

    `tiltmeter score --predictions gpt2_GPT2LM_GPT2LM_d_en.json --as stereotypes-multi --on stereoset:en`

    `tiltmeter score --predictions english_mlm/bert-base-uncased --as gest --on gest-1.0`: all its templates

    `tiltmeter score --predictions english_glm/gpt2_template-0.txt --as gest --on gest-1.0/template-3`
    """
    from tiltmeter.questions import KINDS
    from tiltmeter.runs.prediction_run import score_predictions

    result = score_predictions(
        predictions,
        form=form,
        on=on,
        model=model,
        kind=parse_choice(kind, KINDS, "--kind"),
        protocol=protocol,
        margins=parse_margins(margin),
        out=out,
        force=force,
    )
    print_result(result, out)
