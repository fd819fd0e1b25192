"""The share of the matrix rate while answering: from planned batches to answers, without tokenization.

python -m perf.answering --workload stereoset-intra --model bert-29k --device cuda --dtype bfloat16
"""

import argparse
from collections.abc import Sequence
from statistics import median
from typing import Any

from perf import show
from perf.floor import floor_flops
from perf.machine import describe, matrix_rate
from perf.prepared import parser, prepare
from perf.timing import spread, timed
from tiltmeter.engine.batch_rows import Batch
from tiltmeter.engine.execution import BatchAnswerer, answer_batches, plan_model_batches


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Answer the same batches several times, after an untimed first time."""
    prepared = prepare(options)
    model, kind, questions = prepared.model, prepared.kind, prepared.questions
    answerer = model.get_answerer(kind)
    batches, padding = plan_model_batches(answerer, questions, kind, options.batch_tokens)
    _answer(answerer, batches)
    rates = [matrix_rate(model.device, model.dtype)]
    seconds = [timed(lambda: _answer(answerer, batches), model.device)[0] for _ in range(options.repeats)]
    rates.append(matrix_rate(model.device, model.dtype))
    flops = floor_flops(questions, kind, prepared.module)
    return {
        "workload": options.workload,
        "model": options.model,
        "items": len(prepared.items),
        "kind": kind,
        "dtype": options.dtype,
        "machine": describe(model.device),
        "tokens": _tokens(batches),
        "padding": padding,
        "seconds": seconds,
        "matrix_rate": max(rates),
        "floor_flops": flops,
        "shares": [flops / max(rates) / took for took in seconds],
    }


def _answer(answerer: BatchAnswerer, batches: Sequence[Batch]) -> None:
    for _ in answer_batches(answerer, batches, {}):
        pass


def _tokens(batches: Sequence[Batch]) -> int:
    """Return the number of tokens without padding; a source counts once per batch."""
    return sum(
        sum(len(row.ids) for row in batch) + sum(map(len, {source for row in batch for source in row.sources}))
        for batch in batches
    )


def main() -> None:
    """Measure, print the results, and write the record."""
    command = parser("The share of the matrix rate that is reached while answering.")
    command.add_argument("--repeats", type=int, default=7)
    options = command.parse_args()
    record = measure(options)
    shares = record["shares"]
    row = [
        f"{record['tokens']:,}",
        f"{record['padding']:.1%}",
        spread(record["seconds"]),
        f"{median(shares):.0%} ({min(shares):.0%}–{max(shares):.0%})",
        f"{record['matrix_rate'] / 1e12:,.2f} TFLOP/s",
    ]
    show.table(show.title(record), ("tokens", "padding", "time", "share of the matrix rate", "matrix rate"), [row])
    show.write_json(record, options.json)


if __name__ == "__main__":
    main()
