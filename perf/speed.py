"""Compare the published way with Tiltmeter: time, memory, differences, and the share of the floor.

python -m perf.speed --workload stereoset-intra --model bert-29k --items 200
"""

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from perf import memory, show
from perf.floor import floor_flops
from perf.machine import describe, matrix_rate
from perf.outcome import Outcome, difference, stereotype_score
from perf.prepared import Prepared, parser, prepare
from perf.timing import in_turns, spread

_FEW = 20


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure one workload with one model, and return the record."""
    prepared = prepare(options)
    model = prepared.model
    apart = partial(difference, log_scores=prepared.workload.log_scores)
    for way in memory.WAYS:
        prepared.warm_up(way)
    rates = [matrix_rate(model.device, model.dtype)]
    batches = {f"published, batch {batch}": batch for batch in options.published_batch}
    ways: dict[str, Callable[..., Outcome]] = {
        **{name: partial(prepared.published, batch=batch) for name, batch in batches.items()},
        "tiltmeter": prepared.tiltmeter,
    }
    seconds, outcomes = in_turns(ways, options.repeats, model.device)
    rates.append(matrix_rate(model.device, model.dtype))
    best = min(batches, key=lambda name: median(seconds[name]))
    questions = prepared.questions
    flops = floor_flops(questions, prepared.kind, prepared.module)
    record: dict[str, Any] = {
        "workload": options.workload,
        "model": options.model,
        "items": len(prepared.items),
        "items_from": options.items_from or prepared.workload.dataset,
        "kind": prepared.kind,
        "dtype": options.dtype,
        "machine": describe(model.device),
        "repeats": options.repeats,
        "published": best,
        "published_gradients": options.published_gradients,
        "published_dtype": options.published_dtype or options.dtype,
        "questions": len(questions),
        "skipped_items": sum(len(portion.skipped) for portion in prepared.asked.values()),
        "ratio": median(seconds[best]) / median(seconds["tiltmeter"]),
        "matrix_rate": max(rates),
        "floor_flops": flops,
        "log_probabilities": _range(outcomes[best]),
        "difference": apart(outcomes["tiltmeter"], outcomes[best]).as_dict(),
        "ways": {
            way: {
                "seconds": seconds[way],
                "questions_per_second": len(questions) / median(seconds[way]),
                "padding": outcomes[way].padding,
                "share_of_floor": flops / max(rates) / median(seconds[way]),
            }
            for way in ways
        },
    }
    if options.float64:
        few = prepared.items[:_FEW]
        exact = prepared.exact(few)
        record["from_float64"] = {way: apart(score(few), exact).as_dict() for way, score in ways.items()}
    if options.dtype != "float32":
        record["half_precision"] = _half_precision(options, prepared, outcomes["tiltmeter"])
    if not options.no_memory:
        record["memory"] = {
            way: memory.measure_apart(options, way, published_batch=batches[best]) for way in memory.WAYS
        }
    return record


def _range(outcome: Outcome) -> dict[str, float]:
    """Return the range of log-probabilities; a comparison of nearly equal or very low ones would mean little."""
    values = np.concatenate(list(outcome.log_probabilities().values()))
    kept = values[np.isfinite(values)]
    return dict(zip(("lowest", "median", "highest"), np.quantile(kept, [0, 0.5, 1]).tolist(), strict=True))


def _half_precision(options: argparse.Namespace, prepared: Prepared, half: Outcome) -> dict[str, Any]:
    """Return the differences between half precision and float32 of Tiltmeter."""
    exact = prepare(argparse.Namespace(**{**vars(options), "dtype": "float32"})).tiltmeter()
    return {
        "difference": difference(half, exact, log_scores=prepared.workload.log_scores).as_dict(),
        "SS": stereotype_score(prepared.items, half.scores),
        "SS_float32": stereotype_score(prepared.items, exact.scores),
    }


def print_record(record: dict[str, Any]) -> None:
    """Print the record as tables."""
    rows = [
        [
            way,
            spread(found["seconds"]),
            f"{found['questions_per_second']:,.0f}",
            f"{found['padding']:.1%}",
            f"{found['share_of_floor']:.1%}",
        ]
        for way, found in record["ways"].items()
    ]
    show.table(show.title(record), ("way", "time", "questions/s", "padding", "share of floor"), rows)
    if "memory" in record:
        show.table("Memory", memory.COLUMNS, [memory.row(found) for found in record["memory"].values()])
    print(f"ratio                {record['ratio']:.2f} to {record['published']}")
    print(f"matrix rate          {record['matrix_rate'] / 1e9:,.0f} GFLOP/s")
    print(f"floor                {record['floor_flops'] / 1e9:,.0f} GFLOP")
    print("log-probabilities    " + ", ".join(f"{name} {v:.1f}" for name, v in record["log_probabilities"].items()))
    print(f"largest differences  {_differences(record['difference'])}")
    for way, found in record.get("from_float64", {}).items():
        print(f"from float64         {way}: {_differences(found)}")
    if half := record.get("half_precision"):
        print(f"from float32         {_differences(half['difference'])}")
        if half["SS"] is not None:
            print(f"SS                   {half['SS']:.2f}, in float32 {half['SS_float32']:.2f}")


def _differences(found: dict[str, float | None]) -> str:
    there = {name: found[name] for name in ("token", "candidate", "sum") if found[name] is not None}
    text = ", ".join(f"{name} {largest:.1e}" for name, largest in there.items())
    text += f" (log-probabilities of {found['candidates']:,} candidates"
    return text + (f"; {found['underflows']} underflowed)" if found["underflows"] else ")")


def main() -> None:
    """Measure, print the results, and write the record."""
    command = parser("Compare the published way with Tiltmeter.")
    command.add_argument("--repeats", type=int, default=3)
    command.add_argument("--float64", action="store_true", help=f"also compare both ways with float64, on {_FEW} items")
    command.add_argument("--no-memory", action="store_true", help="do not measure memory")
    options = command.parse_args()
    record = measure(options)
    print_record(record)
    show.write_json(record, options.json)


if __name__ == "__main__":
    main()
