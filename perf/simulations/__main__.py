"""Run the simulations of docs/evidence/verdicts.md.

python -m perf.simulations [--data-sets 4000] [--jobs 2] [--seed 16] [--only TEXT] [TABLE …]

NumPy, SciPy and pandas suffice, except for crossed factors, gates, languages and changes, which need all dependencies
of Tiltmeter. The structures of real data sets are read from TILTMETER_MIRROR.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from perf.simulations.runner import SEED, run

MODULES = (
    *("intervals", "choices", "chat_limits", "missing", "comparisons", "groups"),
    *("verdicts", "looks", "crossed", "gates", "languages", "changes", "word_lists", "stories"),
)

# These need all dependencies of Tiltmeter.
COMPLETE = ("crossed", "gates", "languages", "changes", "word_lists", "stories")


def modules() -> list[ModuleType]:
    """Return the modules with settings; without the gates if a package that they need is not installed."""
    imported = []
    for name in MODULES:
        try:
            imported.append(import_module(f"perf.simulations.{name}"))
        except ModuleNotFoundError as error:
            if name not in COMPLETE or (error.name or "").split(".")[0] in ("perf", "tiltmeter"):
                raise
            print(f"The table {name} is left out: there is no {error.name}.", file=sys.stderr)
    return imported


def main() -> None:
    """Run the simulations and print their tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m perf.simulations", description=__doc__)
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="simulate only these tables; --list prints their names"
    )
    parser.add_argument(
        "--data-sets", type=int, default=4_000, help="the number of simulated data sets for each setting"
    )
    parser.add_argument("--jobs", type=int, default=2, help="the number of parallel processes")
    parser.add_argument("--seed", type=int, default=SEED, help="another number gives other data sets")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="simulate only settings whose row contains this text"
    )
    parser.add_argument("--out", type=Path, help="write the tables to this file")
    parser.add_argument("--list", action="store_true", help="print the names of the tables")
    arguments = parser.parse_args()
    imported = modules()
    tables = {table.name: table for module in imported for table in module.TABLES}
    if arguments.list:
        print("\n".join(tables))
        return
    if unknown := set(arguments.tables) - set(tables):
        parser.error(f"there is no table {', '.join(sorted(unknown))}; there is {', '.join(tables)}")
    settings = [setting for module in imported for setting in module.settings()]
    wanted = [setting for setting in settings if not arguments.tables or setting.table in arguments.tables]
    wanted = [setting for setting in wanted if arguments.only in " | ".join(setting.row)]
    if not wanted:
        parser.error(f"no setting of these tables contains “{arguments.only}”")

    def log(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    results = run(wanted, arguments.data_sets, arguments.jobs, log, seed=arguments.seed)
    shown = [table for table in tables.values() if any(result.setting.table == table.name for result in results)]
    text = "\n\n".join(
        table.text([result for result in results if result.setting.table == table.name]) for table in shown
    )
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
