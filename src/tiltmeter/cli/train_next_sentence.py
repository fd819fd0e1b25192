"""`tiltmeter train next-sentence`, `evaluate` and `convert`: next-sentence heads."""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tiltmeter.cli.output import print_note
from tiltmeter.cli.progress import show_item_progress
from tiltmeter.cli.train_pairs import write_pairs
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console

if TYPE_CHECKING:
    from tiltmeter.training.accuracy import Accuracy
    from tiltmeter.training.trainer import TrainingProgress

# Where the output is no terminal, a line is printed after so many seconds.
_SECONDS_BETWEEN_LINES = 30.0


def next_sentence(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A hub id (`id@revision`), a folder, a .gguf file or `embedded`.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the head; the same command resumes in it.")],
    articles: Annotated[
        list[str] | None,
        typer.Option(
            "--articles",
            metavar="LANGUAGE=SOURCE",
            help="Make pairs of articles first, in OUT/pairs; sources as in `tiltmeter train pairs`, repeat for more.",
        ),
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Sentence pairs of `tiltmeter train pairs`.")
    ] = None,
    head: Annotated[
        str, typer.Option(help="`recommended`, or `published`: the head of the paper's released code.")
    ] = "recommended",
    recipe: Annotated[
        str, typer.Option(help="`default`, or `published`: the paper's batch, rates, schedule and precision.")
    ] = "default",
    batch: Annotated[int | None, typer.Option(help="Pairs in a batch, on each device.")] = None,
    accumulate: Annotated[int | None, typer.Option(help="Batches of an update of the weights.")] = None,
    core_rate: Annotated[float | None, typer.Option(help="The highest learning rate of the model.")] = None,
    head_rate: Annotated[float | None, typer.Option(help="The highest learning rate of the new layers.")] = None,
    warm_up: Annotated[float | None, typer.Option(help="The share of updates in which the rates rise.")] = None,
    clip: Annotated[float | None, typer.Option(help="The largest norm of the gradient.")] = None,
    max_length: Annotated[int | None, typer.Option(help="The longest input, in tokens.")] = None,
    passes: Annotated[int | None, typer.Option(help="Passes over the pairs.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="`auto`, `float32`, `bfloat16` or `float16` for matrix products.")
    ] = None,
    lora: Annotated[bool, typer.Option("--lora", help="Train an adapter: for large models.")] = False,
    lora_rank: Annotated[int, typer.Option(help="The rank of the adapter.")] = 16,
    gradient_checkpointing: Annotated[
        bool, typer.Option("--gradient-checkpointing", help="Less memory, a third more time.")
    ] = False,
    early_stop: Annotated[
        int | None,
        typer.Option(metavar="N", help="Stop after N evaluations without a lower loss, and keep the best weights."),
    ] = None,
    checkpoints: Annotated[int, typer.Option(help="How often in a training its state is saved.")] = 20,
    log_to: Annotated[
        list[str] | None, typer.Option("--log-to", metavar="TRACKER", help="`tensorboard` or `trackio`.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the new layers, of dropout and of the order of pairs.")] = 0,
    cpu: Annotated[bool, typer.Option("--cpu", help="Train on the CPU even if there is a GPU.")] = False,
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run code that comes with the model; only for models that you trust."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Start anew in a folder with a head or another training.")
    ] = False,
) -> None:
    """Train a next-sentence head for a model that has none, such as GPT-2, Llama, T5 or RoBERTa.

    A training that was interrupted goes on from its last checkpoint. Several GPUs:
    `accelerate launch -m tiltmeter train next-sentence …`

    **Examples**

    `tiltmeter train next-sentence gpt2 --articles en=help/en/ --articles de=help/de/ --out heads/gpt2`

    `tiltmeter train next-sentence t5-base --pairs pairs --recipe published --head published --out heads/t5`

    `tiltmeter run heads/gpt2 --on stereoset:en,de`
    """
    from tiltmeter.models.checkpoint_model import open_model
    from tiltmeter.training.head_training import TrainingOptions, join_processes, train_next_sentence
    from tiltmeter.training.training_folder import TrainingFolder
    from tiltmeter.training.training_recipe import find_recipe

    if (pairs is None) == (not articles):
        raise UsageError("Give articles with --articles, or the folder of pairs that were made of them with --pairs.")
    opened = open_model(model, device="cpu", trust_remote_code=trust_remote_code)
    chosen = find_recipe(recipe, opened.kind, opened.config.model_type, lora=lora).changed(
        batch=batch,
        accumulation=accumulate,
        core_rate=core_rate,
        head_rate=head_rate,
        warm_up=warm_up,
        clip=clip,
        max_length=max_length,
        passes=passes,
        precision=precision,
    )
    options = TrainingOptions(
        design=head,
        seed=seed,
        lora=lora,
        lora_rank=lora_rank,
        gradient_checkpointing=gradient_checkpointing,
        early_stop=early_stop,
        checkpoints=checkpoints,
        trackers=tuple(log_to or ()),
        trust_remote_code=trust_remote_code,
    )
    if pairs is None:
        space = TrainingFolder(out)
        processes = join_processes(cpu=cpu)
        if processes.is_main_process:
            space.check(model, force=force)
            _prepare_pairs(articles or [], space.own_pairs, seed=seed, force=force)
        processes.wait_for_everyone()
        pairs = space.own_pairs
    with _show_training_progress() as report:
        trained = train_next_sentence(
            model,
            pairs,
            out,
            recipe=chosen,
            options=options,
            cpu=cpu,
            force=force,
            watch=_show_count_progress,
            report=report,
            tell=print_note,
        )
    if trained is not None:
        _print_accuracy(trained.accuracy)
        print_note(f"The head is in {out}; measure it with: tiltmeter run {out} --on stereoset/intersentence")


def evaluate(
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The folder or hub id of a trained head.")],
    pairs: Annotated[Path, typer.Option(metavar="FOLDER", help="Sentence pairs of `tiltmeter train pairs`.")],
    device: Annotated[str, typer.Option(help="`auto`, `cpu`, `cuda`, `cuda:1` …")] = "auto",
    dtype: Annotated[str, typer.Option(help="`auto`, `float32`, `float16` or `bfloat16`.")] = "auto",
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run code that comes with the model; only for models that you trust."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """The accuracy of a trained head on held-out pairs, by language, with intervals.

    **Example**

    `tiltmeter train evaluate heads/t5 --pairs pairs`
    """
    from tiltmeter.training.head_evaluation import evaluate_head

    found = evaluate_head(
        head, pairs, device=device, dtype=dtype, trust_remote_code=trust_remote_code, watch=_show_count_progress
    )
    if as_json:
        typer.echo(json.dumps([accuracy.to_json() for accuracy in found], indent=2))
    else:
        _print_accuracy(found)


def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE.pth", help="A head of the paper's released code.")],
    base: Annotated[str, typer.Option(metavar="MODEL", help="The model that it was trained from, such as `gpt2`.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the head.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a head in the folder.")] = False,
) -> None:
    """Convert a `.pth` file of the paper's authors to a head that Tiltmeter opens; no code in it is run.

    **Example**

    `tiltmeter train convert gpt2_110000_FINAL.pth --base THUMT/mGPT --out heads/mgpt`
    """
    from tiltmeter.training.released_heads import convert_released

    convert_released(file, base, out, force=force)
    print_note(f"The head is in {out}; measure it with: tiltmeter run {out} --on stereoset/intersentence")


def _prepare_pairs(articles: list[str], folder: Path, *, seed: int, force: bool) -> None:
    """Make the pairs of a training, or check that those of an interrupted one are of the same articles and seed."""
    from tiltmeter.training.articles import open_sources
    from tiltmeter.training.pairs_files import read_pairs

    if force:
        shutil.rmtree(folder, ignore_errors=True)
    if not folder.is_dir():
        write_pairs(articles, folder, seed=seed)
        return
    summary = read_pairs(folder).summary
    there = [(source["name"], source["language"]) for source in summary["sources"]]
    if (
        there != [(source.name, source.language) for source in open_sources(articles)]
        or summary["settings"]["seed"] != seed
    ):
        raise UsageError(
            f"{folder} holds pairs of other articles or another seed; give the same to resume the training, or pass "
            "--force to start anew."
        )


def _print_accuracy(found: "Sequence[Accuracy]") -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("language", "accuracy", "95% interval", "pairs", "articles"):
        table.add_column(heading, justify="left" if heading == "language" else "right")
    for row in found:
        table.add_row(
            row.language or "all",
            f"{row.value:.1f}",
            f"{row.low:.1f} to {row.high:.1f}",
            f"{row.pairs:,}",
            f"{row.articles:,}",
        )
    create_plain_console().print(table)


@contextmanager
def _show_count_progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    with show_item_progress(label) as report:
        yield lambda done: report(done, total)


@contextmanager
def _show_training_progress() -> "Iterator[Callable[[TrainingProgress], None]]":
    """Updates, loss, accuracy, tokens a second and time left: a bar, or lines where there is no terminal."""
    console = create_plain_console(stderr=True)
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[numbers]}", markup=False),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    task: Any = None
    printed = time.monotonic()

    def report(now: "TrainingProgress") -> None:
        nonlocal task, printed
        numbers = [
            f"loss {now.loss:.3f}" if now.loss is not None else "",
            f"accuracy {now.accuracy:.1f}%" if now.accuracy is not None else "",
            f"{now.tokens_per_second:,.0f} tokens/s" if now.tokens_per_second is not None else "",
        ]
        text = ", ".join(number for number in numbers if number)
        if console.is_terminal:
            if task is None:
                progress.start()
                task = progress.add_task("training", total=now.steps, numbers="")
            progress.update(task, completed=now.step, numbers=text)
        elif time.monotonic() - printed >= _SECONDS_BETWEEN_LINES:
            printed = time.monotonic()
            console.print(f"update {now.step:,} of {now.steps:,}: {text}", highlight=False)

    try:
        yield report
    finally:
        progress.stop()
