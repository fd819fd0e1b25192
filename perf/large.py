"""A large causal model with random weights on all of English StereoSet, CrowS-Pairs and GEST, from text to scores.

    python -m perf.large --device cuda --repeats 3

It prints the share of the matrix rate (the operations of `floor.py` by the time from the first text to the last score),
the share of answering alone, and the peak memory beyond the weights. `--trace FILE` writes a profile of the GPU. With
`--window N` the model is a Mistral with a sliding window of N tokens in all layers, and the time without packed rows
and shared prefixes is measured in alternating turns.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import nn

from perf import show
from perf.floor import floor_flops
from perf.machine import describe, matrix_rate, synchronise
from perf.made_tokenizers import byte_level
from tiltmeter.benchmarks import get_benchmark
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.speedups import apply_process_speedups
from tiltmeter.forms import get_form
from tiltmeter.models.in_memory_model import InMemoryModel, wrap_loaded_model
from tiltmeter.questions import Question
from tiltmeter.runs.portions import Portion, load_portions

# Hidden size, feed-forward size, layers and heads of LLaMA with 7 billion weights, and of a small model for tests.
SHAPES = {"7b": (4096, 11_008, 32, 32), "tiny": (64, 128, 2, 4)}
_VOCABULARY = 32_000
_SPECS = ("stereoset:en", "crows-pairs:en", "gest:en")
# The speed-ups that put several inputs into one row.
_OF_ROWS = ("packing", "prefixes")
_STARTER = ("starter:en", "starter-pairs:en", "starter-gest:en")


def made(shape: str, device: torch.device, dtype: torch.dtype, window: int | None = None) -> nn.Module:
    """Return a LLaMA of this shape, or a Mistral with this window, with weights initialised on the device."""
    from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

    hidden, wide, layers, heads = SHAPES[shape]
    sizes: dict[str, Any] = {
        "vocab_size": _VOCABULARY,
        "hidden_size": hidden,
        "intermediate_size": wide,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "max_position_embeddings": 2048,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with device:
            if window is not None:
                return MistralForCausalLM(MistralConfig(**sizes, sliding_window=window)).eval()  # type: ignore[no-untyped-call]
            return LlamaForCausalLM(LlamaConfig(**sizes)).eval()  # type: ignore[no-untyped-call]
    finally:
        torch.set_default_dtype(before)


def texts(chosen: Sequence[Portion]) -> list[str]:
    """Return all texts of the items, to train a tokenizer."""
    return [
        text
        for portion in chosen
        for item in portion.items
        for text in get_form(portion.form).translatable(item).values()
    ]


def once(model: InMemoryModel, chosen: Sequence[Portion]) -> tuple[float, float, list[Question]]:
    """Return the seconds from text to scores, the seconds of answering alone, and the questions."""
    synchronise(model.device)
    with (
        tempfile.TemporaryDirectory() as folder,
        AnswerStore(Path(folder) / "answers.sqlite") as store,
        apply_process_speedups(),
    ):
        began = time.perf_counter()
        trials = [
            trial
            for portion in chosen
            for part in portion.split_into_parts(get_benchmark(portion.form).parts(model.kind))
            for trial in get_benchmark(portion.form).ask(part.part, part.items, model.text, protocol="published").trials
        ]
        questions = [question for trial in trials for question in trial.questions]
        names = {question.digest: trial.item.id for trial in trials for question in trial.questions}
        asked = time.perf_counter()
        answers = model.answer(questions, kind="causal", store=store, names=names, report=lambda _progress: None)
        answered = time.perf_counter()
        for trial in trials:
            trial.score([answers[question.digest] for question in trial.questions])
        return time.perf_counter() - began, answered - asked, questions


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Create the model, warm up, and measure several times."""
    device, dtype = torch.device(options.device), getattr(torch, options.dtype)
    specs = _STARTER if options.items_from == "starter" else _SPECS
    chosen = [portion for spec in specs for portion in load_portions(spec)]
    module = made(options.shape, device, dtype, options.window)
    weights = sum(parameter.numel() * parameter.element_size() for parameter in module.parameters())
    tokenizer = byte_level(texts(chosen), _VOCABULARY)
    model = _opened(module, tokenizer, options.batch_tokens)
    once(model, [replace(portion, items=portion.items[:64]) for portion in chosen])
    apart = None if options.window is None else _opened(module, tokenizer, options.batch_tokens, _OF_ROWS)
    if apart is not None:
        once(apart, [replace(portion, items=portion.items[:64]) for portion in chosen])
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    rates = [matrix_rate(device, dtype)]
    times, apart_seconds = [], []
    for _ in range(options.repeats):
        times.append(once(model, chosen))
        if apart is not None:
            apart_seconds.append(once(apart, chosen)[0])
    rates.append(matrix_rate(device, dtype))
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    flops = floor_flops(times[0][2], "causal", module)
    if options.trace is not None:
        _trace(model, chosen, options.trace)
    return {
        "machine": describe(device),
        "items": sum(len(portion.items) for portion in chosen),
        "questions": len(times[0][2]),
        "weights": weights,
        "beyond_weights": None if peak is None else peak - weights,
        "matrix_rate": max(rates),
        "floor_flops": flops,
        "seconds": [seconds for seconds, _, _ in times],
        "answering": [seconds for _, seconds, _ in times],
        "shares": [flops / max(rates) / seconds for seconds, _, _ in times],
        "shares_answering": [flops / max(rates) / seconds for _, seconds, _ in times],
        "speedups": list(model.get_answerer("causal").speedups),
        "batch_tokens": model.get_answerer("causal").batch_tokens,
        "disabled": dict(model.get_answerer("causal").disabled),
        "seconds_without_shared_rows": apart_seconds,
    }


def _opened(module: nn.Module, tokenizer: Any, batch_tokens: int | None, without: Sequence[str] = ()) -> InMemoryModel:
    model = wrap_loaded_model(module, tokenizer, name="made", batch_tokens=batch_tokens, without=without)
    model.__dict__["weights"] = "random"  # hashing the weights would take longer than answering
    return model


def _trace(model: InMemoryModel, chosen: Sequence[Portion], path: Path) -> None:
    """Profile one more round, and write the kernels that take most of the time."""
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if model.device.type == "cuda" else [])]
    with profile(activities=activities) as found:
        once(model, chosen)
    by = "cuda_time_total" if model.device.type == "cuda" else "cpu_time_total"
    path.write_text(found.key_averages().table(sort_by=by, row_limit=60, max_name_column_width=90), encoding="utf-8")


def main() -> None:
    """Measure, print, and write the record."""
    command = argparse.ArgumentParser(prog="python -m perf.large", description=__doc__)
    command.add_argument("--shape", default="7b", choices=SHAPES)
    command.add_argument("--device", default="cuda")
    command.add_argument("--dtype", default="bfloat16")
    command.add_argument("--batch-tokens", type=int, default=None)
    command.add_argument("--items-from", default=None, choices=("starter",))
    command.add_argument("--repeats", type=int, default=3)
    command.add_argument("--window", type=int, default=None)
    command.add_argument("--trace", type=Path, default=None)
    command.add_argument("--json", type=Path, default=None)
    options = command.parse_args()
    record = measure(options)
    for name in ("shares", "shares_answering"):
        values = record[name]
        print(f"{name}: {median(values):.1%} ({min(values):.1%}–{max(values):.1%})")
    print(f"seconds {median(record['seconds']):.2f}, of which answering {median(record['answering']):.2f}")
    print(f"{record['items']:,} items, {record['questions']:,} questions, {record['floor_flops'] / 1e12:,.0f} TFLOP")
    print(f"matrix rate {record['matrix_rate'] / 1e12:,.0f} TFLOP/s, batches of {record['batch_tokens']:,} tokens")
    if record["beyond_weights"] is not None:
        print(f"weights {record['weights'] / 1e9:.1f} GB, {record['beyond_weights'] / 1e9:.1f} GB beyond them")
    print("speed-ups:", ", ".join(record["speedups"]), record["disabled"] or "")
    if apart := record["seconds_without_shared_rows"]:
        ratio = median(apart) / median(record["seconds"])
        print(f"without packed rows and shared prefixes: seconds {median(apart):.2f}, {ratio:.2f} times as long")
    show.write_json(record, options.json)


if __name__ == "__main__":
    main()
