"""`tiltmeter data lm-eval-tasks`: write tasks for the Language Model Evaluation Harness."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_note


def write_tasks(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE…", help="Data sets, such as stereoset:en, or .jsonl files.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Write the tasks to this folder.")],
    limit: Annotated[
        int | None, typer.Option(min=1, help="Write a random sample of at most this many items of each part.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace tasks that the folder already contains.")] = False,
) -> None:
    """Write a folder of tasks for the Language Model Evaluation Harness, one for each part and language.

    Tasks are written for sentence pairs, StereoSet and multiple-choice questions. The folder does not need Tiltmeter.
    `tiltmeter score --as lm-eval-samples` makes a run, with intervals and verdicts, from the samples that lm_eval logs.

    **Examples**

    `tiltmeter data lm-eval-tasks starter-pairs:en starter:de --out tasks`

    `tiltmeter data lm-eval-tasks crows-pairs --out tasks --limit 500`
    """
    from tiltmeter.integrations.lm_eval_tasks import write_lm_eval_tasks

    written = write_lm_eval_tasks(sources, out, limit=limit, force=force)
    for task in written:
        typer.echo(f"{task.name}: {task.items:,} items")
    print_note(
        f"Run them with: lm_eval --model hf --model_args pretrained=MODEL --include_path {out} --tasks "
        f"{written[0].name} --log_samples --output_path logs"
    )
    print_note(
        f"Then: tiltmeter score --predictions logs/MODEL/samples_{written[0].name}_DATE.jsonl --as lm-eval-samples "
        f"--on {written[0].on}"
    )
