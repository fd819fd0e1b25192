"""`tiltmeter score`: compute the measures from a file of predictions, without running a model."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import parse_choice, print_result
from tiltmeter.options.option_values import parse_margins


def score(
    predictions: Annotated[
        Path, typer.Option("--predictions", help="The file or folder of predictions; see the examples.")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--as",
            help="The format of the predictions: `stereotypes-multi`, `gest`, `gest-pairs`, `lm-eval-samples` (the "
            "Language Model Evaluation Harness) or `inspect`.",
        ),
    ],
    on: Annotated[
        str, typer.Option("--on", metavar="BENCHMARK", help="The data set of the predictions, such as `stereoset:de`.")
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the run to this folder.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The name of the model; the default is the name of the file. With `gest-pairs`, it is the hub id or "
            "folder of the model, because its tokenizer decides which pairs count."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="The kind of model: `masked`, `causal` or `seq2seq`; by default, it is read from the name of the file."
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="The scoring protocol, such as `published/c`; by default, it is read from the name of the file."
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE=NUMBER",
            help="The equivalence margin of a measure, such as `SS=3`; repeat the option for more measures.",
        ),
    ] = None,
    family: Annotated[
        str,
        typer.Option(
            help="Which tests are corrected together for multiple testing: the tests of each part and language "
            "(`portion`), or all tests of the `run`."
        ),
    ] = "portion",
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR",
            help="Do not generalise over this factor, such as `words`: results then concern only the words in the "
            "data. Repeat for more.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the run that the folder --out already contains.")
    ] = False,
) -> None:
    """Create a run from published predictions of a model; the model itself is not needed.

    **Examples**

    `tiltmeter score --predictions gpt2_GPT2LM_GPT2LM_d_en.json --as stereotypes-multi --on stereoset:en`

    `tiltmeter score --predictions english_mlm/bert-base-uncased --as gest --on gest-1.0`: all templates

    `tiltmeter score --predictions english_glm/gpt2_template-0.txt --as gest --on gest-1.0/template-3`

    `tiltmeter score --predictions out/gpt2/samples_crows_pairs_french_2026.jsonl --as lm-eval-samples --on
    crows-pairs-french:fr --kind causal`

    `tiltmeter score --predictions logs/bbq.eval --as inspect --on bbq`
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
        family=family,
        fixed=fixed or (),
        out=out,
        force=force,
    )
    print_result(result, out)
