"""Tokens per second in training a next-sentence head: Tiltmeter and a plain Trainer loop in alternating turns.

    python -m perf.next_sentence_speed MODEL --pairs FOLDER [--updates 40] [--turns 5] [--batch 64] [--cpu]

Both train the same module with the same precision, batch size and attention kernel. The plain loop takes pairs in
random order and pads to the longest of the batch; Tiltmeter uses batches of similar length. Tokens are counted without
padding. The share of the matrix rate is 6 operations per weight and token (without embeddings) by the rate of a large
matrix product in the same run.
"""

import argparse
import statistics
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.models.next_sentence_model import build_head_module, load_core
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.training.batches import TrainingBatches
from tiltmeter.training.bf16_residual import use_bf16_residual
from tiltmeter.training.head_design import design_head
from tiltmeter.training.pairs_files import read_pairs
from tiltmeter.training.precision import select_precision
from tiltmeter.training.tokenised_pairs import CHUNK, TokenisedPairs, tokenise_pairs
from tiltmeter.training.trainer import HeadTrainer
from tiltmeter.training.training_recipe import TrainingRecipe

_WARM_UP = 5


class Pairs(Dataset[dict[str, Any]]):
    """Single pairs, for the plain loop."""

    def __init__(self, tokens: TokenisedPairs) -> None:
        self._tokens = tokens

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, index: int) -> dict[str, Any]:
        start = int(self._tokens.starts[index])
        return {
            "ids": self._tokens.ids[start : start + int(self._tokens.lengths[index])],
            "label": int(self._tokens.labels[index]),
        }


class Clock(TrainerCallback):
    """The time of the updates after the first few."""

    def __init__(self, cuda: bool) -> None:
        self._cuda = cuda
        self.times: list[float] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        if state.global_step in (_WARM_UP, state.max_steps):
            if self._cuda:
                torch.cuda.synchronize()
            self.times.append(time.perf_counter())


def padded(examples: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """Return a batch padded to its longest pair."""
    rows = [torch.from_numpy(np.array(example["ids"], dtype=np.int64)) for example in examples]
    return {
        "input_ids": torch.nn.utils.rnn.pad_sequence(rows, batch_first=True),
        "lengths": torch.tensor([len(row) for row in rows]),
        "labels": torch.tensor([example["label"] for example in examples]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--cpu", action="store_true")
    given = parser.parse_args()
    with silence_transformers(), tempfile.TemporaryDirectory() as folder:
        measure(given, Path(folder))


def measure(given: argparse.Namespace, folder: Path) -> None:
    cuda = torch.cuda.is_available() and not given.cpu
    device = torch.device("cuda" if cuda else "cpu")
    recipe = TrainingRecipe(accumulation=1, batch=given.batch, passes=1)
    precision = select_precision(recipe, device)
    base = open_model(given.model, device="cpu", dtype="float32")
    data = read_pairs(given.pairs)
    head = design_head(base, "recommended", name=given.model, languages=data.languages, max_length=recipe.max_length)
    text = TokenizerText(base.tokenizer, base.config, base.kind)
    tokens = tokenise_pairs(data.train.to_batches(batch_size=CHUNK), folder / "tokens", text, head)
    module = build_head_module(load_core(base, head), base.tokenizer, head)
    weights = sum(p.numel() for p in module.parameters()) - module.core.get_input_embeddings().weight.numel()
    batches = TrainingBatches([tokens], recipe.batch, seed=0, by_length=True)
    print(f"{len(tokens):,} pairs, {tokens.lengths.mean():.1f} tokens each; {precision}; padding {batches.padding:.1%}")
    rates: dict[str, list[float]] = {"ours": [], "plain": []}
    for turn in range(given.turns):
        for name in ("ours", "plain") if turn % 2 else ("plain", "ours"):
            rates[name].append(_turn(name, module, tokens, batches, recipe, precision, given, folder, turn))
            print(f"turn {turn + 1}: {name} {rates[name][-1]:,.0f} tokens/s", flush=True)
    ratios = [ours / plain for ours, plain in zip(rates["ours"], rates["plain"], strict=True)]
    for name, found in rates.items():
        print(f"{name}: median {statistics.median(found):,.0f} tokens/s")
    print(f"ratio: median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    peak = _matrix_rate(device, precision)
    print(f"matrix rate {peak / 1e12:.1f} TFLOP/s; share {6 * weights * statistics.median(rates['ours']) / peak:.1%}")


def _turn(
    name: str,
    module: Any,
    tokens: TokenisedPairs,
    batches: TrainingBatches,
    recipe: TrainingRecipe,
    precision: torch.dtype,
    given: argparse.Namespace,
    folder: Path,
    turn: int,
) -> float:
    clock = Clock(torch.cuda.is_available() and not given.cpu)
    arguments = TrainingArguments(
        output_dir=str(folder / "run"),
        per_device_train_batch_size=recipe.batch if name == "plain" else 1,
        max_steps=_WARM_UP + given.updates,
        learning_rate=1e-5,
        bf16=precision == torch.bfloat16,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        logging_nan_inf_filter=False,
        optim="adamw_torch_fused" if torch.cuda.is_available() and not given.cpu else "adamw_torch",
        seed=turn,
        use_cpu=given.cpu,
    )
    seen: list[int] = []

    trainer: Any
    if name == "plain":
        trainer = Trainer(
            model=module,
            args=arguments,
            train_dataset=Pairs(tokens),
            data_collator=lambda examples: _count(padded(examples), seen),
            callbacks=[clock],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.remove_callback(ProgressCallback)
    else:
        trainer = HeadTrainer(
            module, _Counted(batches, seen, turn * (given.updates + _WARM_UP)), recipe, arguments, callbacks=[clock]
        )
    with use_bf16_residual(module.core, precision, arguments.device) if name == "ours" else nullcontext():
        trainer.train()
    first, last = clock.times
    # Batches are counted when they are created; one more may have been prepared in advance.
    return sum(seen[_WARM_UP : _WARM_UP + given.updates]) / (last - first)


def _count(batch: dict[str, torch.Tensor], seen: list[int]) -> dict[str, torch.Tensor]:
    seen.append(int(batch["lengths"].sum()))
    return batch


class _Counted(Dataset[dict[str, torch.Tensor]]):
    """Batches from an index on, counted when they are created."""

    def __init__(self, batches: TrainingBatches, seen: list[int], start: int) -> None:
        self._batches, self._seen, self._start = batches, seen, start

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return _count(self._batches[(self._start + index) % len(self._batches)], self._seen)


def _matrix_rate(device: torch.device, precision: torch.dtype, size: int = 8192) -> float:
    """Return the operations per second of a large matrix product."""
    size = size if device.type == "cuda" else 2048
    a, b = (torch.randn(size, size, device=device, dtype=precision) for _ in range(2))
    times = []
    for _ in range(12):
        if device.type == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        a @ b
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return 2 * size**3 / statistics.median(times[2:])


if __name__ == "__main__":
    main()
