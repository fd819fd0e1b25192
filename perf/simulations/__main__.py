"""Run the simulations of docs/statistics.md: `python -m perf.simulations [--data-sets 4000] [--jobs 2] [TABLE …]`.

NumPy, SciPy and pandas are enough, but for the gates, which need what Tiltmeter needs.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from perf.simulations.runner import run

MODULES = ("intervals", "comparisons", "verdicts", "gates")


def modules() -> list[ModuleType]:
    """The modules with settings; the gates are left out where a package that they need is not installed."""
    found = []
    for name in MODULES:
        try:
            found.append(import_module(f"perf.simulations.{name}"))
        except ModuleNotFoundError as error:
            if name != "gates" or (error.name or "").split(".")[0] in ("perf", "tiltmeter"):
                raise
            print(f"The gates are left out: there is no {error.name}.", file=sys.stderr)
    return found


def main() -> None:
    """Print a table in Markdown for each kind of simulation."""
    parser = argparse.ArgumentParser(prog="python -m perf.simulations", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="these tables only; --list names them")
    parser.add_argument("--data-sets", type=int, default=4_000, help="of each setting")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, help="write the tables to this file")
    parser.add_argument("--list", action="store_true", help="print the names of the tables")
    given = parser.parse_args()
    there = modules()
    tables = {table.name: table for module in there for table in module.TABLES}
    if given.list:
        print("\n".join(tables))
        return
    if unknown := set(given.tables) - set(tables):
        parser.error(f"there is no table {', '.join(sorted(unknown))}; there is {', '.join(tables)}")
    settings = [setting for module in there for setting in module.settings()]
    wanted = [setting for setting in settings if not given.tables or setting.table in given.tables]
    found = run(wanted, given.data_sets, given.jobs, lambda line: print(line, file=sys.stderr, flush=True))
    shown = [table for table in tables.values() if any(one.setting.table == table.name for one in found)]
    text = "\n\n".join(table.text([one for one in found if one.setting.table == table.name]) for table in shown)
    if given.out:
        given.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
