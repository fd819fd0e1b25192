"""`tiltmeter run`: measure models."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_result, spell


def run(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="A hub id (`id@revision`), a folder, a .gguf file, or `embedded`."),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option("--on", metavar="BENCHMARK", help="`stereoset:en,de`, `stereoset/intrasentence`, `my.jsonl` …"),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder to write the run to.")] = None,
    protocol: Annotated[str, typer.Option(help="`published`, `in-context`, `published/c` …")] = "published",
    limit: Annotated[int | None, typer.Option(help="At most so many items of each part and language.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="`masked`, `causal` or `seq2seq`, if the config does not say.")
    ] = None,
    device: Annotated[str, typer.Option(help="`auto`, `cpu`, `cuda`, `cuda:1` …")] = "auto",
    dtype: Annotated[str, typer.Option(help="`auto`, `float32`, `float16` or `bfloat16`.")] = "auto",
    batch_tokens: Annotated[int | None, typer.Option(help="Tokens sent at once; found by itself if not given.")] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model. Only if you know it.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite another run in the folder.")] = False,
) -> None:
    """Measure how far models lean towards stereotypes.

    **Examples**

    `tiltmeter run`: the embedded model on the starter set

    `tiltmeter run bert-base-cased gpt2 --on stereoset:en --out runs/english`

    `tiltmeter run ./my-model --on stereoset/intrasentence:de,fr --limit 200`

    `tiltmeter run model.gguf --on my-items.jsonl --protocol in-context`

    What was answered once is kept, so a run that was stopped goes on where it was.
    """
    from tiltmeter.cli.progress import answering_bar
    from tiltmeter.questions import KINDS
    from tiltmeter.runs import evaluate

    result = evaluate(
        models or ["embedded"],
        on or ["starter"],
        protocol=protocol,
        limit=limit,
        kind=spell(kind, KINDS, "--kind"),
        device=device,
        dtype=dtype,
        batch_tokens=batch_tokens,
        trust_remote_code=trust_remote_code,
        out=out,
        force=force,
        watch=answering_bar,
    )
    print_result(result, out)
