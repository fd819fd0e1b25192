"""Compare Tiltmeter with a slow reference implementation on a tiny model of every text architecture of transformers.

python -m perf.architectures --only causal/mistral gemma3_text
"""

import argparse
import json
import logging
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

# Before torch is imported: children are forked, and threads would compete for the cores or hang.
os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

from perf.architectures.catalogue import Architecture, find_architectures
from perf.architectures.checking import DEFAULT, WAYS, Outcome, check, prepare_material
from perf.architectures.isolation import Failure, run_isolated
from perf.architectures.making import LONGROPE, MIDDLE, SMALL, Variant
from perf.architectures.short import list_short
from perf.architectures.table import count, write_between_markers

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "architectures-tested.md"
_FEW = 4
Check = tuple[Architecture, Variant]


def main() -> int:
    """Run the suite; exit with code 1 if an architecture is wrong."""
    options = _parse_options()
    logging.disable(logging.WARNING)
    if options.short:
        checks = [(a, v) for a, v in list_short() if not options.only or {a.name, a.model_type} & {*options.only}]
    else:
        checks = [(a, v) for a in find_architectures(options.only) for v in (SMALL, MIDDLE, LONGROPE)]
    rows: dict[str, list[Outcome]] = {architecture.name: [] for architecture, _ in checks}
    with tempfile.TemporaryDirectory() as folder:
        material = prepare_material(Path(folder), _FEW)
        # Import the modules of the checks before the first fork.
        check(*list_short()[-1], material)
        for (architecture, variant), found in run_isolated(
            lambda one: check(*one, material, WAYS if one[1] == SMALL else DEFAULT),
            checks,
            at_once=options.jobs,
            seconds=options.seconds,
        ):
            outcome = _outcome(architecture, variant, found)
            if outcome is not None:
                rows[architecture.name].append(outcome)
                print(_line(outcome), flush=True)
    rows = {name: outcomes for name, outcomes in rows.items() if outcomes}
    _write(options, rows)
    counts = count(rows)
    print(", ".join(f"{number} {verdict}" for verdict, number in counts.most_common()))
    return 1 if counts["wrong"] else 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m perf.architectures", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="test only these model types, such as gpt2 or causal/gpt2"
    )
    parser.add_argument("--short", action="store_true", help="test only the architectures that `make test` compares")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="the number of architectures that are tested in parallel"
    )
    parser.add_argument("--seconds", type=float, default=600, help="the time limit for one variant of an architecture")
    parser.add_argument("--out", type=Path, help="write all results to this JSON file")
    parser.add_argument(
        "--page", type=Path, default=_PAGE, help="the Markdown page to which a complete run writes its tables"
    )
    return parser.parse_args()


def _outcome(architecture: Architecture, variant: Variant, found: Outcome | Failure | None) -> Outcome | None:
    if isinstance(found, Failure):
        return Outcome(architecture.name, str(variant), "wrong", reason=found.reason)
    return found


def _line(outcome: Outcome) -> str:
    detail = outcome.reason or f"{outcome.difference:.1e}"
    if outcome.verdict == "wrong":
        detail += f" ({outcome.where})"
    return "  ".join([f"{outcome.name} ({outcome.variant})", outcome.verdict, detail, *outcome.notes])


def _write(options: argparse.Namespace, rows: dict[str, list[Outcome]]) -> None:
    if options.out:
        found = {name: [asdict(outcome) for outcome in outcomes] for name, outcomes in rows.items()}
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if not options.only and not options.short:
        write_between_markers(options.page, rows)


if __name__ == "__main__":
    sys.exit(main())
