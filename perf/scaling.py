"""Whether time grows with the number of items and memory does not: each number of items in a process of its own.

python -m perf.scaling --workload stereoset-intra --model bert-29k
"""

from perf import memory, show
from perf.prepared import parser

_COUNTS = (250, 1000, 4000)


def main() -> None:
    """Measure all sizes, print, and write the record."""
    command = parser("Time per item and peak memory at several numbers of items.")
    command.add_argument("--counts", type=int, nargs="+", default=_COUNTS)
    command.add_argument("--way", choices=memory.WAYS, default="tiltmeter")
    options = command.parse_args()
    record = [memory.measure_apart(options, options.way, items=count) for count in options.counts]
    rows = [
        [
            f"{found['items']:,}",
            f"{found['seconds']:.1f} s",
            f"{1000 * found['seconds'] / found['items']:.2f} ms",
            *memory.row(found)[1:],
        ]
        for found in record
    ]
    title = f"{options.workload}, {options.model}, {options.way}"
    show.table(title, ("items", "time", "time per item", *memory.COLUMNS[1:]), rows)
    show.write_json(record, options.json)


if __name__ == "__main__":
    main()
