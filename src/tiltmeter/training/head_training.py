"""Train a next-sentence head: from a model and sentence pairs to a folder that Tiltmeter opens as that model."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
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
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.models.next_sentence_model import build_head_module, find_head, load_core
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.text_files import expand_home
from tiltmeter.training.accuracy import Accuracy, compute_accuracies, compute_logits, compute_validation_metrics
from tiltmeter.training.bf16_residual import use_bf16_residual
from tiltmeter.training.head_design import design_head
from tiltmeter.training.head_files import save_head
from tiltmeter.training.lora import add_lora
from tiltmeter.training.pairs_files import HELD_OUT, TRAIN, read_pairs
from tiltmeter.training.precision import select_precision
from tiltmeter.training.trainer import (
    HeadTrainer,
    Report,
    ReportingCallback,
    create_tensorboard_callback,
    find_last_checkpoint,
)
from tiltmeter.training.training_folder import TENSORBOARD, TrainingFolder, compute_files_digest
from tiltmeter.training.training_recipe import TrainingRecipe, find_recipe
from tiltmeter.training.training_tokens import SET_ASIDE, TrainingTokens, Watch, ignore_progress, tokenise_training

_LONGEST_WAIT = timedelta(days=1)
TRACKERS = ("tensorboard", "trackio")


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What a training depends on besides the model, the pairs and the recipe.

    `lora`: train an adapter of the core instead of all its weights. `early_stop`: end after so many evaluations without
    a lower loss on the pairs set aside, and keep the best weights. `checkpoints`: how often in a training its state is
    saved, and the loss on the pairs set aside is computed.
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


@dataclass(frozen=True)
class TrainedHead:
    """A finished head: its folder, config and accuracy on held-out pairs, and the record that `training.json` holds."""

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
    watch: Watch = ignore_progress,
    report: Report = lambda _progress: None,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> TrainedHead | None:
    """Train a head for a model on sentence pairs, and save it in the folder `out`; resumes an unfinished training.

    `recipe` is `default`, `published` or a `TrainingRecipe`. `watch` and `report` show progress, `tell` a note. Of the
    processes of `accelerate launch`, the first returns the head and the others None.
    """
    chosen = options or TrainingOptions()
    _validate_options(chosen)
    data = read_pairs(pairs)
    if find_head(model, trust_remote_code=chosen.trust_remote_code) is not None:
        raise UsageError(f"{model} is a next-sentence head already; name the model that it was trained from.")
    base = open_model(model, device="cpu", dtype="float32", trust_remote_code=chosen.trust_remote_code)
    used = recipe
    if not isinstance(used, TrainingRecipe):
        used = find_recipe(used, base.kind, base.config.model_type, lora=chosen.lora)
    head = design_head(
        base,
        chosen.design,
        name=format_base_name(out, model),
        languages=data.languages,
        max_length=used.max_length,
        lora=chosen.lora,
    )
    state = join_processes(cpu=cpu)
    precision = select_precision(used, state.device)
    if used.precision not in ("auto", str(precision).removeprefix("torch.")) and state.is_main_process:
        tell(f"The recipe's {used.precision} is for GPUs; training in float32.")
    settings = {
        "recipe": asdict(used),
        "options": asdict(chosen),
        "head": head.to_json(),
        "pairs": compute_files_digest([pairs / TRAIN, pairs / HELD_OUT]),
        "processes": state.num_processes,
        "precision": str(precision),
    }
    space = TrainingFolder(out)
    if not state.is_main_process:
        state.wait_for_everyone()
        tokens = tokenise_training(data, space, base, head, used, chosen.seed, ignore_progress)
        _train(base, head, tokens, space, used, chosen, precision, cpu, lambda _progress: None)
        return None
    space.check(model, force=force)
    with space.lock():
        space.prepare(settings, force=force)
        tokens = tokenise_training(data, space, base, head, used, chosen.seed, watch)
        state.wait_for_everyone()
        module, log, updates, seconds = _train(base, head, tokens, space, used, chosen, precision, cpu, report)
        with watch("held-out pairs", len(tokens.held_out)) as told:
            found = compute_accuracies(
                compute_logits(module, tokens.held_out, precision=precision, told=told), tokens.held_out
            )
        trained = updates * used.accumulation * state.num_processes
        record = {
            **settings,
            "updates": updates,
            "seconds": seconds,
            "tokens": tokens.batches.count_tokens(trained),
            "padding": tokens.batches.padding,
            "data": data.summary,
            "accuracy": [accuracy.to_json() for accuracy in found],
            "log": log,
        }
        save_head(module, base, head, out, record)
        space.clear()
    return TrainedHead(out, head, found, record)


def _train(
    base: CheckpointModel,
    head: HeadConfig,
    tokens: TrainingTokens,
    space: TrainingFolder,
    recipe: TrainingRecipe,
    options: TrainingOptions,
    precision: torch.dtype,
    cpu: bool,
    report: Report,
) -> tuple[nn.Module, list[dict[str, float]], int, float]:
    """The trained module, the logged numbers, the updates, and the seconds."""
    set_seed(options.seed)
    frozen_half = options.lora and precision == torch.bfloat16
    core = load_core(base, head, torch.bfloat16 if frozen_half else torch.float32)
    if options.gradient_checkpointing and not getattr(core, "supports_gradient_checkpointing", False):
        raise UsageError(
            f"{base.name} ({base.config.model_type}) does not support --gradient-checkpointing; leave it out."
        )
    module = build_head_module(core, base.tokenizer, head)
    if options.lora:
        module.core = add_lora(core, options.lora_rank)
    processes = PartialState().num_processes
    steps = -(-len(tokens.batches) // (recipe.accumulation * processes))
    every = max(1, steps // options.checkpoints)
    # Losses are logged as often as checkpoints are written, or a whole number of times as often: the mean loss since
    # the last entry is not part of a checkpoint.
    logging = next(size for size in range(max(1, every // 10), every + 1) if every % size == 0)
    validating = len(tokens.set_aside) > 0
    if options.early_stop is not None and not validating:
        raise UsageError(
            f"There are too few articles to set one in {SET_ASIDE} aside, which --early-stop needs; leave it out, or "
            "make pairs of more articles."
        )
    arguments = TrainingArguments(
        output_dir=str(space.checkpoints),
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
        logging_steps=logging,
        logging_nan_inf_filter=False,
        eval_strategy="steps" if validating else "no",
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=3,
        load_best_model_at_end=options.early_stop is not None,
        metric_for_best_model="loss" if options.early_stop is not None else None,
        greater_is_better=False if options.early_stop is not None else None,
        restore_callback_states_from_checkpoint=options.early_stop is not None,
        report_to="trackio" if "trackio" in options.trackers else "none",
        run_name=space.out.name,
        project="tiltmeter",
        disable_tqdm=True,
        remove_unused_columns=False,
        label_names=["labels"],
        seed=options.seed,
        use_cpu=cpu,
    )
    callbacks: list[Any] = [ReportingCallback(report, tokens.batches.tokens)]
    if "tensorboard" in options.trackers:
        callbacks.append(create_tensorboard_callback(space.out / TENSORBOARD))
    if options.early_stop is not None:
        callbacks.append(EarlyStoppingCallback(options.early_stop))
    trainer = HeadTrainer(
        module,
        tokens.batches,
        recipe,
        arguments,
        callbacks=callbacks,
        validate=partial(compute_validation_metrics, tokens=tokens.set_aside, precision=precision)
        if validating
        else None,
    )
    if PartialState().is_main_process:
        found = find_last_checkpoint(space.checkpoints)
    PartialState().wait_for_everyone()
    if not PartialState().is_main_process:
        found = find_last_checkpoint(space.checkpoints)
    try:
        with use_bf16_residual(module.core, precision, arguments.device):
            trainer.train_from(found)
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f"The device has too little memory for batches of {recipe.batch} pairs; start anew with --force and a "
            "smaller --batch (and more to --accumulate), --gradient-checkpointing or --lora."
        ) from error
    log = [entry for entry in trainer.state.log_history if "loss" in entry or "eval_loss" in entry]
    return module, log, trainer.state.global_step, trainer.seconds


def _validate_options(options: TrainingOptions) -> None:
    if options.early_stop is not None and options.early_stop < 1:
        raise UsageError(f"--early-stop takes a number of evaluations of at least 1, not {options.early_stop}.")
    if options.checkpoints < 1:
        raise UsageError(f"--checkpoints must be at least 1, not {options.checkpoints}.")
    if unknown := [name for name in options.trackers if name not in TRACKERS]:
        raise UsageError(f"{unknown[0]!r} is no tracker; choose {' or '.join(TRACKERS)}.")
    if missing := [name for name in options.trackers if find_spec(name) is None]:
        raise UsageError(f"{missing[0]} is not installed; install it with: pip install 'tiltmeter[tracking]'")


def join_processes(*, cpu: bool) -> PartialState:
    """The processes of `accelerate launch`, which wait for the first one as long as it takes to prepare the data."""
    return PartialState(cpu=cpu, timeout=_LONGEST_WAIT)


def format_base_name(out: Path, model: str) -> str:
    """What the head's config calls its base model: a path relative to the head's folder, or the name."""
    path = expand_home(model)
    return os.path.relpath(path.resolve(), out.resolve()) if path.exists() else model
