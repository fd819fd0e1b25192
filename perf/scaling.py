"""Time per item and peak memory for several numbers of items, each in a separate process.

python -m perf.scaling --workload stereoset-intra --model bert-29k
"""

from perf import memory, show
from perf.prepared import parser

_COUNTS = (250, 1000, 4000)


def main() -> None:
    """Measure all numbers of items, print a table, and write the record."""
    command = parser("Time per item and peak memory at several numbers of items.")
    command.add_argument("--counts", type=int, nargs="+", default=_COUNTS)
    command.add_argument("--way", choices=memory.WAYS, default="tiltmeter")
    options = command.parse_args()
    record = [memory.measure_apart(options, options.way, items=count) for count in options.counts]
    rows = [
        [
            f"{entry['items']:,}",
            f"{entry['seconds']:.1f} s",
            f"{1000 * entry['seconds'] / entry['items']:.2f} ms",
            *memory.row(entry)[1:],
        ]
        for entry in record
    ]
    title = f"{options.workload}, {options.model}, {options.way}"
    show.table(title, ("items", "time", "time per item", *memory.COLUMNS[1:]), rows)
    show.write_json(record, options.json)


if __name__ == "__main__":
    main()
