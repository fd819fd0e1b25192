"""Prepare items, a model and both ways of scoring from command-line options."""

import argparse
import copy
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import nn

from perf.items import STARTER, load_items
from perf.made_models import RECIPES, default_folder, ensure
from perf.outcome import Outcome
from perf.published_way import PublishedModel
from perf.tiltmeter_way import score_items
from perf.workloads import WORKLOADS, Workload
from tiltmeter.benchmarks.benchmark import PartTrials
from tiltmeter.forms import Item
from tiltmeter.models.checkpoint_model import CheckpointModel, open_model
from tiltmeter.models.model_kinds import AUTO_CLASSES
from tiltmeter.questions import Kind, Question

_WARM_UP = 16
_DTYPES = ("float32", "bfloat16", "float16")


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options of all commands."""
    command = argparse.ArgumentParser(description=description)
    command.add_argument("--workload", required=True, choices=WORKLOADS)
    command.add_argument("--model", required=True, help=f"the model: {', '.join(RECIPES)}, embedded, or a model folder")
    command.add_argument("--items", type=int, default=200)
    command.add_argument(
        "--items-from",
        default=None,
        help="a data set, `starter`, or a JSONL file; default: the data set of the workload",
    )
    command.add_argument("--device", default="cpu")
    command.add_argument("--dtype", default="float32", choices=_DTYPES)
    command.add_argument("--threads", type=int, default=None)
    command.add_argument(
        "--batch-tokens", type=int, default=None, help="tokens per batch of Tiltmeter; default: as in a run"
    )
    command.add_argument(
        "--published-batch",
        type=int,
        nargs="+",
        default=[8],
        help="sentences per batch of the published way; `speed` tries all given numbers, other commands use the first",
    )
    command.add_argument(
        "--published-gradients",
        action="store_true",
        help="compute gradients in the published way, as the released code does",
    )
    command.add_argument(
        "--published-dtype",
        default=None,
        choices=_DTYPES,
        help="dtype of the published way; default: the dtype of Tiltmeter (the released code supports only float32)",
    )
    command.add_argument("--models-dir", type=Path, default=default_folder())
    command.add_argument("--json", type=Path, default=None, help="write the results to this JSON file")
    return command


def as_arguments(options: argparse.Namespace, **changes: object) -> list[str]:
    """Return the options of all commands as arguments for a separate process."""
    arguments: list[str] = []
    names = [action.dest for action in parser("")._actions if action.dest not in ("help", "json")]
    for name, value in {**{name: getattr(options, name) for name in names}, **changes}.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            arguments += [flag, *map(str, value if isinstance(value, list) else [value])]
    return arguments


@dataclass(frozen=True)
class Prepared:
    """A workload with its items and an opened model; weights are loaded on first use."""

    workload: Workload
    items: Sequence[Item]
    model: CheckpointModel
    batch_tokens: int | None
    published_batches: Sequence[int]
    published_gradients: bool
    published_dtype: torch.dtype

    @cached_property
    def kind(self) -> Kind:
        """The kind of head that answers."""
        (kind,) = {asked.kind for asked in self.workload.ask(self.items[:1], self.model).values()}
        return kind

    @cached_property
    def asked(self) -> Mapping[str | None, PartTrials]:
        """Tiltmeter's trials about the items, by part of the benchmark."""
        return self.workload.ask(self.items, self.model)

    @cached_property
    def questions(self) -> list[Question]:
        """All questions, before deduplication."""
        return [question for portion in self.asked.values() for trial in portion.trials for question in trial.questions]

    @cached_property
    def module(self) -> nn.Module:
        """The model as transformers loads it, unchanged by Tiltmeter."""
        model = self.model
        gguf = {"gguf_file": model.checkpoint.gguf} if model.checkpoint.gguf else {}
        loaded = AUTO_CLASSES[self.kind].from_pretrained(
            str(model.checkpoint.folder), dtype=self.published_dtype, **gguf
        )
        return loaded.to(model.device).eval()

    def published(self, items: Sequence[Item] | None = None, batch: int | None = None) -> Outcome:
        """Score the items the published way; `batch` is the first of the batch sizes by default."""
        model = replace(self._published_model, batch=batch or self.published_batches[0])
        with nullcontext() if self.published_gradients else torch.inference_mode():
            return self._published(model, self.items if items is None else items)

    def exact(self, items: Sequence[Item]) -> Outcome:
        """Score items the published way in double precision, to find the cause of a rounding difference."""
        with torch.inference_mode():
            return self._published(replace(self._published_model, module=copy.deepcopy(self.module).double()), items)

    def _published(self, model: PublishedModel, items: Sequence[Item]) -> Outcome:
        return self.workload.published[self.model.kind](items, model)

    def tiltmeter(self, items: Sequence[Item] | None = None) -> Outcome:
        """Score the items as a run does."""
        return score_items(self.workload, self.items if items is None else items, self.model, self.batch_tokens)

    def warm_up(self, way: str) -> None:
        """Load the weights and score a few items, untimed."""
        if way == "published":
            self.published(self.items[:_WARM_UP])
        else:
            self.tiltmeter(self.items[:_WARM_UP])

    @cached_property
    def _published_model(self) -> PublishedModel:
        tokenizer = copy.deepcopy(self.model.tokenizer)
        tokenizer.padding_side = "right"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        return PublishedModel(
            self.module,
            tokenizer,
            self.model.device,
            self.model.text.start,
            self.model.text.sentinel_text,
        )


def prepare(options: argparse.Namespace) -> Prepared:
    """Load the items, create the model if needed, and open it."""
    if options.threads:
        torch.set_num_threads(options.threads)
    workload = WORKLOADS[options.workload]
    source = workload.starter if options.items_from == STARTER else options.items_from or workload.dataset
    name = ensure(options.model, source, options.models_dir)
    prepared = Prepared(
        workload,
        load_items(source, workload.part, options.items),
        open_model(name, device=options.device, dtype=options.dtype, cache=options.models_dir),
        options.batch_tokens,
        options.published_batch,
        options.published_gradients,
        getattr(torch, options.published_dtype or options.dtype),
    )
    if prepared.model.kind not in workload.published:
        raise SystemExit(f"{workload.name} is only for {', '.join(workload.published)} models; choose another --model.")
    return prepared
