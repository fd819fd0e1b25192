"""Run the simulations of docs/statistics.md: `python -m perf.simulations [--data-sets 4000] [--jobs 2] [TABLE …]`."""

import argparse
import sys
from pathlib import Path

from perf.simulations import comparisons, gates, intervals, verdicts
from perf.simulations.runner import Found, markdown, percent, run


def main() -> None:
    """Print a table in Markdown for each kind of simulation."""
    parser = argparse.ArgumentParser(prog="python -m perf.simulations", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="these tables only; --list names them")
    parser.add_argument("--data-sets", type=int, default=4_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write the tables to this file")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    settings = [s for module in (intervals, comparisons, verdicts, gates) for s in module.settings()]
    if given.list:
        print("\n".join(dict.fromkeys(setting.table for setting in settings)))
        return
    wanted = [s for s in settings if not given.tables or s.table in given.tables]
    found = run(wanted, given.data_sets, given.jobs, lambda line: print(line, file=sys.stderr, flush=True))
    text = "\n\n".join(_table(name, [f for f in found if f.setting.table == name]) for name in _names(found))
    if given.out:
        given.out.write_text(text + "\n", encoding="utf-8")
    print(text)


def _names(found: list[Found]) -> list[str]:
    return list(dict.fromkeys(one.setting.table for one in found))


def _table(name: str, found: list[Found]) -> str:
    columns = list(dict.fromkeys(column for one in found for column in one.counts))
    words = max(len(one.setting.row) for one in found)
    rows = [
        [*one.setting.row, *[""] * (words - len(one.setting.row)), *(percent(one.mean(column)) for column in columns)]
        for one in found
    ]
    return f"**{name}**, %\n\n{markdown(rows, [*[''] * words, *columns], words)}"


if __name__ == "__main__":
    main()
