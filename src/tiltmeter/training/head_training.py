"""Train a next-sentence head for a model on sentence pairs, and save it as a folder."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from torch import nn
from transformers import EarlyStoppingCallback, TrainingArguments, set_seed

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.checkpoint_model import CheckpointModel, open_model
from tiltmeter.models.hardware_usage import HardwareUsage
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.models.next_sentence_model import build_head_module, find_head, load_core
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.progress.progress import ReportProgress, ShowProgress, hide_progress, ignore_progress
from tiltmeter.text_files import expand_home
from tiltmeter.training.accuracy import Accuracy, compute_accuracies, compute_logits, compute_validation_metrics
from tiltmeter.training.bf16_residual import use_bf16_residual
from tiltmeter.training.head_design import design_head
from tiltmeter.training.head_files import save_head
from tiltmeter.training.lora import add_lora
from tiltmeter.training.pairs_files import HELD_OUT, TRAIN, read_pairs
from tiltmeter.training.precision import select_precision
from tiltmeter.training.trainer import HeadTrainer, ReportingCallback, create_tensorboard_callback, find_last_checkpoint
from tiltmeter.training.training_folder import TENSORBOARD, TrainingFolder, compute_files_digest
from tiltmeter.training.training_recipe import TrainingRecipe, find_recipe
from tiltmeter.training.training_tokens import SET_ASIDE, TrainingTokens, tokenise_training

_TIMEOUT = timedelta(days=1)
TRACKERS = ("tensorboard", "trackio")


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """The options of a training other than the model, the pairs and the recipe.

    `lora`: train an adapter instead of all weights. `early_stop`: stop if the validation loss was not lower in this
    number of consecutive evaluations, and use the best weights. `checkpoints`: the number of checkpoints, and of
    evaluations, in a training. `tokenizer`: a tokenizer to use instead of the model's own.
    """

    design: str = "recommended"
    seed: int = 0
    lora: bool = False
    lora_rank: int = 16
    gradient_checkpointing: bool = False
    early_stop: int | None = None
    checkpoints: int = 20
    trackers: tuple[str, ...] = ()
    trust_remote_code: bool = False
    tokenizer: str | None = None


@dataclass(frozen=True)
class TrainedHead:
    """A trained head: its folder, its config, its accuracy on held-out pairs, and the content of `training.json`."""

    out: Path
    head: HeadConfig
    accuracy: Sequence[Accuracy]
    record: Mapping[str, Any]


@silence_transformers()
def train_next_sentence(
    model: str,
    pairs: Path,
    out: Path,
    *,
    recipe: str | TrainingRecipe = "default",
    options: TrainingOptions | None = None,
    cpu: bool = False,
    force: bool = False,
    watch: ShowProgress = hide_progress,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> TrainedHead | None:
    """Train a head for a model on sentence pairs and save it in the folder `out`; continue an unfinished training.

    `recipe` is `default`, `published` or a `TrainingRecipe`. `watch` shows the progress of each step. `tell` is called
    with each note for the user. With `accelerate launch`, the first process returns the head, and the other processes
    return None.
    """
    options = options or TrainingOptions()
    _validate_options(options)
    data = read_pairs(pairs)
    if find_head(model, trust_remote_code=options.trust_remote_code) is not None:
        raise UsageError(f"{model} is already a next-sentence head; name its base model instead.")
    base = open_model(
        model,
        device="cpu",
        dtype="float32",
        trust_remote_code=options.trust_remote_code,
        tokenizer=options.tokenizer,
    )
    if not isinstance(recipe, TrainingRecipe):
        recipe = find_recipe(recipe, base.kind, base.config.model_type, lora=options.lora)
    head = design_head(
        base,
        options.design,
        name=format_base_name(out, model),
        languages=data.languages,
        max_length=recipe.max_length,
        lora=options.lora,
    )
    state = join_training_processes(cpu=cpu)
    precision = select_precision(recipe, state.device)
    if recipe.precision not in ("auto", str(precision).removeprefix("torch.")) and state.is_main_process:
        tell(f"{recipe.precision} needs a GPU; training in float32 instead.")
    settings = {
        "recipe": asdict(recipe),
        "options": asdict(options),
        "head": head.to_json(),
        "pairs": compute_files_digest([pairs / TRAIN, pairs / HELD_OUT]),
        "processes": state.num_processes,
        "precision": str(precision),
    }
    folder = TrainingFolder(out)
    if not state.is_main_process:
        state.wait_for_everyone()
        tokens = tokenise_training(data, folder, base, head, recipe, options.seed, hide_progress)
        _train_module(base, head, tokens, folder, recipe, options, precision, cpu, ignore_progress)
        return None
    folder.reject_unusable_folder(model, force=force)
    with folder.lock():
        folder.create_folder(settings, force=force)
        tokens = tokenise_training(data, folder, base, head, recipe, options.seed, watch)
        state.wait_for_everyone()
        with watch("training") as report:
            # The energy of other processes, and of the time before an interruption, is not known.
            is_complete = state.num_processes == 1 and find_last_checkpoint(folder.checkpoints) is None
            usage, devices = HardwareUsage(joules=0.0 if is_complete else None), [state.device] * state.num_processes
            with usage.measure_usage(devices):
                module, log, updates, seconds = _train_module(
                    base, head, tokens, folder, recipe, options, precision, cpu, report
                )
            usage.seconds = seconds
        with watch("held-out pairs") as report:
            accuracies = compute_accuracies(
                compute_logits(module, tokens.held_out, precision=precision, report=report), tokens.held_out
            )
        batches = updates * recipe.accumulation * state.num_processes
        record = {
            **settings,
            "updates": updates,
            "seconds": seconds,
            "compute": usage.describe_usage(devices),
            "tokens": tokens.batches.count_tokens(batches),
            "padding": tokens.batches.padding,
            "data": data.summary,
            "accuracy": [accuracy.to_json() for accuracy in accuracies],
            "log": log,
        }
        total = accuracies[-1]
        head = replace(head, accuracy=(total.value, total.low, total.high))
        save_head(module, base, head, out, record)
        folder.delete_training_files()
    return TrainedHead(out, head, accuracies, record)


def _train_module(
    base: CheckpointModel,
    head: HeadConfig,
    tokens: TrainingTokens,
    folder: TrainingFolder,
    recipe: TrainingRecipe,
    options: TrainingOptions,
    precision: torch.dtype,
    cpu: bool,
    report: ReportProgress,
) -> tuple[nn.Module, list[dict[str, float]], int, float]:
    """Train the head; return the module, the log entries, the number of weight updates, and the time in seconds."""
    set_seed(options.seed)
    is_frozen_in_bf16 = options.lora and precision == torch.bfloat16
    core = load_core(base, head, torch.bfloat16 if is_frozen_in_bf16 else torch.float32)
    if options.gradient_checkpointing and not getattr(core, "supports_gradient_checkpointing", False):
        raise UsageError(
            f"{base.name} ({base.config.model_type}) does not support --gradient-checkpointing; leave out this option."
        )
    module = build_head_module(core, base.tokenizer, head)
    if options.lora:
        module.core = add_lora(core, options.lora_rank)
    processes = PartialState().num_processes
    steps = -(-len(tokens.batches) // (recipe.accumulation * processes))
    every = max(1, steps // options.checkpoints)
    # Each checkpoint is written together with a log entry, because a checkpoint does not contain the mean loss since
    # the previous log entry. So `every`, the number of steps between checkpoints, is a multiple of `logging_steps`.
    logging_steps = next(size for size in range(max(1, every // 10), every + 1) if every % size == 0)
    has_validation = len(tokens.set_aside) > 0
    if options.early_stop is not None and not has_validation:
        raise UsageError(
            f"There are no validation pairs for --early-stop, because they come from 1 in {SET_ASIDE} articles; create "
            "pairs from more articles, or leave out --early-stop."
        )
    arguments = TrainingArguments(
        output_dir=str(folder.checkpoints),
        per_device_train_batch_size=1,
        gradient_accumulation_steps=recipe.accumulation,
        num_train_epochs=1,
        learning_rate=recipe.core_rate,
        lr_scheduler_type=recipe.schedule,
        warmup_steps=recipe.count_warm_up_steps(steps),
        max_grad_norm=recipe.clip,
        bf16=precision == torch.bfloat16,
        fp16=precision == torch.float16,
        gradient_checkpointing=options.gradient_checkpointing,
        logging_steps=logging_steps,
        logging_nan_inf_filter=False,
        eval_strategy="steps" if has_validation else "no",
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=3,
        load_best_model_at_end=options.early_stop is not None,
        metric_for_best_model="loss" if options.early_stop is not None else None,
        greater_is_better=False if options.early_stop is not None else None,
        restore_callback_states_from_checkpoint=options.early_stop is not None,
        report_to="trackio" if "trackio" in options.trackers else "none",
        run_name=folder.out.name,
        project="tiltmeter",
        disable_tqdm=True,
        remove_unused_columns=False,
        label_names=["labels"],
        seed=options.seed,
        use_cpu=cpu,
    )
    callbacks: list[Any] = [ReportingCallback(report, tokens.batches.token_count)]
    if "tensorboard" in options.trackers:
        callbacks.append(create_tensorboard_callback(folder.out / TENSORBOARD))
    if options.early_stop is not None:
        callbacks.append(EarlyStoppingCallback(options.early_stop))
    trainer = HeadTrainer(
        module,
        tokens.batches,
        recipe,
        arguments,
        callbacks=callbacks,
        validate=partial(compute_validation_metrics, tokens=tokens.set_aside, precision=precision)
        if has_validation
        else None,
    )
    # The main process deletes incomplete checkpoints before the other processes look for the last checkpoint.
    with PartialState().main_process_first():
        checkpoint = find_last_checkpoint(folder.checkpoints)
    try:
        with use_bf16_residual(module.core, precision, arguments.device):
            trainer.train_from(checkpoint)
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f"The device has too little memory for batches of {recipe.batch} pairs; start again with --force and a "
            "smaller --batch (and more --accumulate), --gradient-checkpointing or --lora."
        ) from error
    log = [entry for entry in trainer.state.log_history if "loss" in entry or "eval_loss" in entry]
    return module, log, trainer.state.global_step, trainer.seconds


def _validate_options(options: TrainingOptions) -> None:
    if options.early_stop is not None and options.early_stop < 1:
        raise UsageError(f"--early-stop must be at least 1, not {options.early_stop}.")
    if options.checkpoints < 1:
        raise UsageError(f"--checkpoints must be at least 1, not {options.checkpoints}.")
    if unknown := [name for name in options.trackers if name not in TRACKERS]:
        raise UsageError(f"--log-to {unknown[0]} is not known; choose {' or '.join(TRACKERS)}.")
    if missing := [name for name in options.trackers if find_spec(name) is None]:
        raise UsageError(f"{missing[0]} is not installed; install it with: pip install 'tiltmeter[tracking]'")


def join_training_processes(*, cpu: bool) -> PartialState:
    """Connect the processes of `accelerate launch`, which wait up to a day while the first one prepares the data."""
    return PartialState(cpu=cpu, timeout=_TIMEOUT)


def format_base_name(out: Path, model: str) -> str:
    """Return the base model's name for the config of a head: a hub id, or a path relative to the head's folder."""
    path = expand_home(model)
    return os.path.relpath(path.resolve(), out.resolve()) if path.exists() else model
