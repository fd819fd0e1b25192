"""The commands `next-sentence`, `evaluate` and `convert` of `tiltmeter train`."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.output import print_note
from tiltmeter.cli.train_pairs import write_pairs
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console
from tiltmeter.progress.terminal_progress import show_in_terminal

if TYPE_CHECKING:
    from tiltmeter.training.accuracy import Accuracy


def train_head(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="The model: a hub id (`id` or `id@revision`), a folder, a .gguf file or `embedded` (built in).",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Save the head to this folder; the same command continues an interrupted training."
        ),
    ],
    articles: Annotated[
        list[str] | None,
        typer.Option(
            "--articles",
            metavar="LANGUAGE=SOURCE",
            help="First create sentence pairs in OUT/pairs from these articles; see `tiltmeter train pairs`; repeat "
            "the option for more.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="With --articles: use at most this many articles of each source.")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The folder of sentence pairs that `tiltmeter train pairs` wrote."),
    ] = None,
    head: Annotated[
        str,
        typer.Option(help="The architecture of the head: `recommended`, or `published` (Öztürk et al. 2023)."),
    ] = "recommended",
    recipe: Annotated[
        str, typer.Option(help="The hyperparameters: `default`, or `published` (Öztürk et al. 2023).")
    ] = "default",
    batch: Annotated[int | None, typer.Option(help="The number of pairs per batch and device.")] = None,
    accumulate: Annotated[
        int | None, typer.Option(help="The number of batches per weight update (gradient accumulation).")
    ] = None,
    core_rate: Annotated[
        float | None, typer.Option(help="The maximum learning rate of the existing layers of the model.")
    ] = None,
    head_rate: Annotated[
        float | None, typer.Option(help="The maximum learning rate of the new layers of the head.")
    ] = None,
    optimizer: Annotated[
        str | None, typer.Option(help="The optimizer: `adamw`, or `adafactor`, which needs less memory.")
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            help="The learning rate over the training: `cosine`, `cosine_with_restarts`, `constant` or "
            "`constant_with_warmup`."
        ),
    ] = None,
    warm_up: Annotated[
        float | None, typer.Option(help="The share of updates with an increasing learning rate (warm-up), such as 0.1.")
    ] = None,
    clip: Annotated[float | None, typer.Option(help="The maximum norm of the gradient.")] = None,
    max_length: Annotated[int | None, typer.Option(help="The maximum length of an input, in tokens.")] = None,
    passes: Annotated[int | None, typer.Option(help="The number of epochs.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="The precision of matrix products: `auto`, `float32`, `bfloat16` or `float16`.")
    ] = None,
    lora: Annotated[
        bool, typer.Option("--lora", help="Train a LoRA adapter instead of all weights; for large models.")
    ] = False,
    lora_rank: Annotated[int, typer.Option(help="With --lora: the rank of the adapter.")] = 16,
    gradient_checkpointing: Annotated[
        bool, typer.Option("--gradient-checkpointing", help="Use less memory, at the cost of a third more time.")
    ] = False,
    early_stop: Annotated[
        int | None,
        typer.Option(metavar="N", help="Stop after N evaluations without a lower loss, and use the best weights."),
    ] = None,
    checkpoints: Annotated[int, typer.Option(help="The number of checkpoints to save during the training.")] = 20,
    log_to: Annotated[
        list[str] | None,
        typer.Option(
            "--log-to", metavar="TRACKER", help="Log to `tensorboard` or `trackio`; repeat the option for more."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="The random seed of the new layers, of dropout and of the order of pairs.")
    ] = 0,
    tokenizer: Annotated[
        str | None,
        typer.Option(metavar="FOLDER_OR_ID", help="A tokenizer to use instead of the model's own."),
    ] = None,
    cpu: Annotated[bool, typer.Option("--cpu", help="Train on the CPU even if there is a GPU.")] = False,
    trust_remote_code: Annotated[
        bool,
        typer.Option(
            "--trust-remote-code", help="Run code that comes with the model; use it only for models that you trust."
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a head, or the files of another training, in the folder --out.")
    ] = False,
) -> None:
    """Train a next-sentence head for a model that has none, such as GPT-2, Llama, T5 or RoBERTa.

    The same command continues an interrupted training from its last checkpoint. For several GPUs, use
    `accelerate launch -m tiltmeter train next-sentence …`.

    **Examples**

    `tiltmeter train next-sentence gpt2 --articles en=help/en/ --articles de=help/de/ --out heads/gpt2`

    `tiltmeter train next-sentence t5-base --pairs pairs --recipe published --head published --out heads/t5`

    `tiltmeter run heads/gpt2 --on stereoset:en,de`
    """
    from tiltmeter.models.checkpoint_model import open_model
    from tiltmeter.training.head_training import TrainingOptions, join_training_processes, train_next_sentence
    from tiltmeter.training.training_folder import TrainingFolder
    from tiltmeter.training.training_recipe import find_recipe

    if (pairs is None) == (not articles):
        raise UsageError("Give either articles with --articles, or a folder of sentence pairs with --pairs.")
    if limit is not None and not articles:
        raise UsageError("--limit needs --articles; give it to `tiltmeter train pairs` when the pairs are made.")
    opened = open_model(model, device="cpu", trust_remote_code=trust_remote_code, tokenizer=tokenizer)
    chosen = find_recipe(recipe, opened.kind, opened.config.model_type, lora=lora).apply_changes(
        batch=batch,
        accumulation=accumulate,
        core_rate=core_rate,
        head_rate=head_rate,
        optimizer=optimizer,
        schedule=schedule,
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
        tokenizer=tokenizer,
    )
    if pairs is None:
        training_folder = TrainingFolder(out)
        processes = join_training_processes(cpu=cpu)
        if processes.is_main_process:
            training_folder.reject_unusable_folder(model, force=force)
            _prepare_pairs(articles or [], training_folder.own_pairs, seed=seed, limit=limit, force=force)
        processes.wait_for_everyone()
        pairs = training_folder.own_pairs
    trained = train_next_sentence(
        model,
        pairs,
        out,
        recipe=chosen,
        options=options,
        cpu=cpu,
        force=force,
        watch=show_in_terminal,
        tell=print_note,
    )
    if trained is not None:
        _print_accuracy(trained.accuracy)
        print_note(f"Head saved in {out}; measure it with: tiltmeter run {out} --on stereoset/intersentence")


def evaluate_saved_head(
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The folder or hub id of a trained head.")],
    pairs: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The folder of sentence pairs that `tiltmeter train pairs` wrote.")
    ],
    device: Annotated[str, typer.Option(help="The device: `auto`, `cpu`, `cuda`, `cuda:1` …")] = "auto",
    dtype: Annotated[
        str, typer.Option(help="The data type of the weights: `auto`, `float32`, `float16` or `bfloat16`.")
    ] = "auto",
    trust_remote_code: Annotated[
        bool,
        typer.Option(
            "--trust-remote-code", help="Run code that comes with the model; use it only for models that you trust."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Print the accuracy of a trained head on held-out pairs, by language, with 95% intervals.

    **Example**

    `tiltmeter train evaluate heads/t5 --pairs pairs`
    """
    from tiltmeter.training.head_evaluation import evaluate_head

    accuracies = evaluate_head(
        head, pairs, device=device, dtype=dtype, trust_remote_code=trust_remote_code, watch=show_in_terminal
    )
    if as_json:
        typer.echo(json.dumps([accuracy.to_json() for accuracy in accuracies], indent=2))
    else:
        _print_accuracy(accuracies)


def convert_head(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.pth", help="A next-sentence head that Öztürk et al. (2023) released.")
    ],
    base: Annotated[
        str, typer.Option(metavar="MODEL", help="The model from which the head was trained, such as `gpt2`.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Save the head to this folder.")],
    tokenizer: Annotated[
        str | None,
        typer.Option(metavar="FOLDER_OR_ID", help="A tokenizer to use instead of that of the model --base."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a head in the folder --out.")] = False,
) -> None:
    """Convert a next-sentence head that Öztürk et al. (2023) released as a `.pth` file; no code in the file is run.

    **Example**

    `tiltmeter train convert gpt2_110000_FINAL.pth --base THUMT/mGPT --out heads/mgpt`
    """
    from tiltmeter.training.released_heads import convert_released

    convert_released(file, base, out, tokenizer=tokenizer, force=force)
    print_note(f"Head saved in {out}; measure it with: tiltmeter run {out} --on stereoset/intersentence")


def _prepare_pairs(articles: list[str], folder: Path, *, seed: int, limit: int | None, force: bool) -> None:
    """Create the sentence pairs for a training, unless they exist; with `force`, replace existing pairs.

    Raise an error if existing pairs come from other articles, or have another seed or limit.
    """
    from tiltmeter.training.article_sources import open_sources
    from tiltmeter.training.pairs_files import read_pairs

    if force:
        shutil.rmtree(folder, ignore_errors=True)
    if not folder.is_dir():
        write_pairs(articles, folder, seed=seed, limit=limit)
        return
    summary = read_pairs(folder).summary
    existing = [(source["name"], source["language"]) for source in summary["sources"]]
    if (
        existing != [(source.name, source.language) for source in open_sources(articles)]
        or summary["settings"]["seed"] != seed
        or summary["settings"].get("limit") != limit
    ):
        raise UsageError(
            f"{folder} contains pairs of other articles, or of another seed or limit; give the same --articles, --seed "
            "and --limit to continue, or replace the pairs with --force."
        )


def _print_accuracy(accuracies: "Sequence[Accuracy]") -> None:
    from rich.table import Table

    from tiltmeter.training.accuracy import describe_chance

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("language", "accuracy", "95% interval", "pairs", "articles"):
        table.add_column(heading, justify="left" if heading == "language" else "right")
    for row in accuracies:
        table.add_row(
            row.language or "all",
            f"{row.value:.1f}",
            f"{row.low:.1f} to {row.high:.1f}",
            f"{row.pairs:,}",
            f"{row.articles:,}",
        )
    create_plain_console().print(table)
    if note := describe_chance(accuracies):
        print_note(note)
