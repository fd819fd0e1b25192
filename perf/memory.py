"""Peak memory of one way of scoring, in a separate process.

python -m perf.memory --workload stereoset-intra --model bert-29k --way tiltmeter
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from perf import show

WAYS = ("published", "tiltmeter")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Score all items once, and return a record of peak memory (total and after loading), weights and seconds."""
    import torch

    from perf.machine import forget_peak_memory, peak_memory, synchronise
    from perf.prepared import prepare

    prepared = prepare(options)
    device = prepared.model.device
    prepared.warm_up(options.way)
    with_loading = peak_memory()
    forget_peak_memory()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    score: Callable[[], Any] = prepared.published if options.way == "published" else prepared.tiltmeter
    began = time.perf_counter()
    score()
    synchronise(device)
    seconds = time.perf_counter() - began
    scoring = peak_memory()
    module = prepared.module if options.way == "published" else prepared.model.get_answerer(prepared.kind).model
    return {
        "way": options.way,
        "items": len(prepared.items),
        "seconds": seconds,
        "weights": sum(parameter.numel() * parameter.element_size() for parameter in module.parameters()),
        "peak": max(with_loading, scoring),
        "peak_of_scoring": scoring,
        "peak_on_device": torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None,
    }


def measure_apart(options: argparse.Namespace, way: str, **changes: object) -> dict[str, Any]:
    """Call `measure` in a separate process."""
    from perf.prepared import as_arguments

    command = [sys.executable, "-m", __spec__.name, "--way", way, "--bare", *as_arguments(options, **changes)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def row(record: dict[str, Any]) -> list[str]:
    """Return a record as a row of a table."""
    on_device = record["peak_on_device"]
    return [
        record["way"],
        show.megabytes(record["weights"]),
        show.megabytes(record["peak"]),
        show.megabytes(record["peak_of_scoring"]),
        show.megabytes(on_device) if on_device is not None else "–",
    ]


COLUMNS = ("way", "weights", "peak of the process", "peak while scoring", "peak on the device")


def main() -> None:
    """Measure one way."""
    from perf.prepared import parser

    command = parser("Peak memory of one way of scoring.")
    command.add_argument("--way", required=True, choices=WAYS)
    command.add_argument("--bare", action="store_true", help="print one line of JSON instead of a table")
    options = command.parse_args()
    record = measure(options)
    if options.bare:
        print(json.dumps(record))
    else:
        show.table(f"{options.workload}, {options.model}, {record['items']} items", COLUMNS, [row(record)])
    show.write_json(record, options.json)


if __name__ == "__main__":
    main()
