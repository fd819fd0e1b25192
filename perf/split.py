"""A model that is split over GPU, main memory and disk, compared with the whole model: answers and time.

python -m perf.split --workload stereoset-intra --model gpt2 --items-from starter --device cuda --dtype bfloat16
"""

import argparse
import time
from typing import Any

import numpy as np

from perf import show
from perf.machine import describe, synchronise
from perf.prepared import parser, prepare
from perf.tiltmeter_way import score_items
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.models.checkpoint_model import CheckpointModel, open_model
from tiltmeter.questions import Answer, Kind, Question

# The shares of the weights in the GPU and in main memory, with and without a GPU; the rest is on disk.
_ON_GPU, _BESIDE_GPU, _WITHOUT_GPU = 0.5, 0.25, 0.6


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Answer the same questions with the whole model and with the split one."""
    prepared = prepare(options)
    whole, kind, questions = prepared.model, prepared.kind, prepared.questions
    size = sum(parameter.numel() for parameter in whole.skeleton.parameters()) * whole.dtype.itemsize
    memory = {"cpu": str(int(size * _WITHOUT_GPU))}
    if whole.device.type == "cuda":
        memory = {"0": str(int(size * _ON_GPU)), "cpu": str(int(size * _BESIDE_GPU))}
    if options.max_memory:
        memory = dict(pair.split("=") for pair in options.max_memory.split(","))
    split = open_model(whole.name, device=options.device, dtype=options.dtype, max_memory=memory)
    found, seconds, speedups = {}, {}, {}
    for name, model in (("whole", whole), ("split", split)):
        answerer = model.get_answerer(kind)
        score_items(prepared.workload, prepared.items[:16], model, options.batch_tokens)  # a warm-up
        synchronise(model.device)
        began = time.perf_counter()
        found[name] = _answers(model, kind, questions)
        seconds[name] = time.perf_counter() - began
        speedups[name] = list(answerer.speedups)
    differences = [np.abs(found["whole"][digest] - found["split"][digest]).max() for digest in found["whole"]]
    record = {
        "workload": options.workload,
        "model": options.model,
        "items": len(prepared.items),
        "kind": kind,
        "dtype": options.dtype,
        "machine": describe(whole.device),
        "bytes": size,
        "max_memory": memory,
        "split": split.describe()["split"],
        "seconds": seconds,
        "speedups": speedups,
        "largest_difference": float(max(differences)),
        "mean_difference": float(np.mean(differences)),
        "compute": whole.describe()["compute"],
    }
    split.close()
    return record


def _answers(model: CheckpointModel, kind: Kind, questions: list[Question]) -> dict[bytes, Answer]:
    with AnswerStore(":memory:") as store:
        found = model.answer(questions, kind=kind, store=store, names={}, report=lambda _progress: None)
    return dict(found)


def main() -> None:
    """Measure, print, and write the record."""
    command = parser("A model that is split over devices, compared with the whole model.")
    command.add_argument(
        "--max-memory",
        default=None,
        help="maximum memory per device, as in `tiltmeter run`; default: too little for all weights",
    )
    options = command.parse_args()
    record = measure(options)
    row = [
        ", ".join(f"{count} modules on {place}" for place, count in record["split"].items()),
        f"{record['seconds']['whole']:.2f} s",
        f"{record['seconds']['split']:.2f} s",
        f"{record['largest_difference']:.2g}",
        f"{record['mean_difference']:.2g}",
    ]
    heads = ("split over", "whole", "split", "largest difference", "mean difference")
    show.table(show.title(record), heads, [row])
    show.write_json(record, options.json)


if __name__ == "__main__":
    main()
