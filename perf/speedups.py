"""The gain of each speed-up: Tiltmeter without and with it, in alternating turns, on eight workloads.

    python -m perf.speedups --items-from starter --threads 2 --at-once 8
    python -m perf.speedups --items-from starter --device cuda --dtype bfloat16

On a CPU, `--at-once` measures several workloads at the same time, each in a process with its own cores, so that more
items can be measured in the same time.

It prints a Markdown table with a row for each speed-up (`tiltmeter/engine/speedups/`) and one for all of them together.
Each entry is the time without the speed-up divided by the time with it: the geometric mean over pairs of turns with a
95% interval (t distribution of the logarithms). All variants of a model share its weights.
"""

import argparse
import copy
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import nn

from perf import show
from perf.machine import describe
from perf.made_models import default_folder
from perf.outcome import Outcome, difference
from perf.prepared import Prepared, parser, prepare
from perf.timing import pairs_of_turns
from tiltmeter.engine.speedups import ALL, NAMES, PROCESS_SPEEDUPS
from tiltmeter.models.local_model import ANSWERERS

# The workloads with their models.
WORKLOADS = (
    ("stereoset-intra", "bert-29k"),
    ("stereoset-intra", "gpt2"),
    ("stereoset-intra", "t5-base"),
    ("stereoset-inter", "bert-29k"),
    ("stereoset-inter", "gpt2"),
    ("stereoset-inter", "t5-base"),
    ("crows-pairs", "bert-29k"),
    ("gest", "bert-29k"),
)
PLAIN = "all of them"
# A speed-up whose interval ends below this on every workload is deleted.
WORTH = 1.10
_LEAST_ITEMS, _MOST_ITEMS = 8, 2000
# The number of items for estimating the time per item.
_FEW = 12
# The share of the time for creating and loading models, checks of speed-ups and warm-up.
_OVERHEAD = 0.35
# Quantiles of the t distribution for a two-sided 95% interval, by degrees of freedom from 1.
_T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131]
_T += [2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of times with its 95% interval (NaN with fewer than two pairs)."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if np.isnan(self.low):
            return f"{self.value:.2f}"
        return f"{self.value:.2f} ({self.low:.2f}–{self.high:.2f})"


def ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Return the geometric mean of the ratios of the first to the second of each pair, with its interval.

    >>> str(ratio([(2.2, 2.0), (1.1, 1.0), (3.3, 3.0)]))
    '1.10 (1.10–1.10)'
    """
    logs = np.log([without / with_it for without, with_it in pairs])
    middle = float(logs.mean())
    if len(logs) < 2:
        return Ratio(float(np.exp(middle)), float("nan"), float("nan"))
    quantile = _T[min(len(logs) - 1, len(_T)) - 1]
    half = float(quantile * logs.std(ddof=1) / np.sqrt(len(logs)))
    return Ratio(*(float(np.exp(value)) for value in (middle, middle - half, middle + half)))


@dataclass
class Measured:
    """The results of one workload: the seconds of each variant, in pairs (without, with)."""

    workload: str
    model: str
    kind: str
    items: int
    seconds: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    differences: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.workload} {self.kind}"


def variants(prepared: Prepared) -> tuple[Prepared, dict[str, Prepared]]:
    """Return the workload with all speed-ups, and its variants without each speed-up of the model and without any."""
    kind, model = prepared.kind, prepared.model
    module = model._load_module(kind)

    def without(names: frozenset[str]) -> Prepared:
        answerer = ANSWERERS[kind](_copy(module), model.device, names)
        return replace(prepared, model=replace(model, without=names, _loaded={kind: answerer}))

    fast = without(frozenset())
    used = fast.model.get_answerer(kind).speedups
    names = [name for name in NAMES if name in used or name in PROCESS_SPEEDUPS]
    return fast, {**{name: without(frozenset([name])) for name in names}, PLAIN: without(ALL)}


def _copy(module: nn.Module) -> nn.Module:
    """Return a copy of the modules that shares all tensors, so that modules can be replaced in the copy only."""
    tensors = {id(tensor): tensor for tensor in chain(module.parameters(), module.buffers())}
    return copy.deepcopy(module, tensors).eval()


def measure(options: argparse.Namespace, workload: str, model: str, seconds: float) -> Measured:
    """Measure all variants of one workload in about `seconds` seconds, including creating and loading models."""
    prepared = prepare(argparse.Namespace(**{**vars(options), "workload": workload, "model": model, "items": _FEW}))
    fast, left_out = variants(prepared)
    chosen = {name: variant for name, variant in left_out.items() if not options.only or name in options.only}
    count = options.items
    for _ in range(2):  # the first one is a warm-up
        began = time.perf_counter()
        fast.tiltmeter()
        took = time.perf_counter() - began
    if count is None:
        # A pair has two turns; a turn without any speed-up takes several times as long.
        turns = options.repeats * (2 * len(chosen) + 4)
        count = int(np.clip(_FEW * seconds * (1 - _OVERHEAD) / turns / took, _LEAST_ITEMS, _MOST_ITEMS))
    items = prepare(argparse.Namespace(**{**vars(options), "workload": workload, "model": model, "items": count})).items
    found = Measured(workload, model, fast.kind, count)
    for name, variant in chosen.items():
        variant.tiltmeter(items[:_FEW])
        pairs, outcomes = pairs_of_turns(
            _scoring(variant, items), _scoring(fast, items), options.repeats, fast.model.device
        )
        found.seconds[name] = pairs
        apart = difference(*outcomes, log_scores=fast.workload.log_scores).as_dict()
        found.differences[name] = apart["candidate"] if apart["token"] is None else apart["token"]
        print(f"{found.name:32} {name:20} {ratio(pairs)}", file=sys.stderr, flush=True)
    return found


def _scoring(prepared: Prepared, items: Sequence[Any]) -> Callable[[], Outcome]:
    return partial(prepared.tiltmeter, items)


def table(all_measured: Sequence[Measured]) -> list[str]:
    """Return the ratios as a Markdown table, with a row for each speed-up and its verdict."""
    lines = [
        "| speed-up | " + " | ".join(f"{one.name}, {one.items} items" for one in all_measured) + " | verdict |",
        "| --- |" + " --- |" * (len(all_measured) + 1),
    ]
    for name in (*NAMES, PLAIN):
        ratios = [ratio(one.seconds[name]) if name in one.seconds else None for one in all_measured]
        if any(ratios):
            cells = [str(one) if one else "–" for one in ratios]
            lines.append(f"| {name} | {' | '.join(cells)} | {verdict(name, [one for one in ratios if one])} |")
    return lines


def verdict(name: str, ratios: Sequence[Ratio]) -> str:
    """Return `delete` if the interval ends below `WORTH` on every workload, `keep` if it begins above it on one."""
    if name == PLAIN:
        return ""
    if any(np.isnan(one.high) for one in ratios):
        return "too few turns"
    if all(one.high < WORTH for one in ratios):
        return "delete"
    return "keep" if any(one.low >= WORTH for one in ratios) else "unclear"


def times(all_measured: Sequence[Measured]) -> list[str]:
    """Return median times with and without speed-ups and the largest difference of log-probabilities as Markdown."""
    lines = ["| workload | model | items | with all | plain | largest difference |", "| --- |" + " --- |" * 5]
    for one in all_measured:
        with_all = np.median([pair[1] for pairs in one.seconds.values() for pair in pairs])
        plain = f"{np.median([pair[0] for pair in one.seconds[PLAIN]]):.2f} s" if PLAIN in one.seconds else "–"
        largest = max(one.differences.values())
        lines.append(f"| {one.name} | {one.model} | {one.items} | {with_all:.2f} s | {plain} | {largest:.0e} |")
    return lines


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of this command and those for preparing a workload."""
    command = argparse.ArgumentParser(description="What each speed-up gains, in alternating turns.")
    command.add_argument("--device", default="cpu")
    command.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    command.add_argument("--threads", type=int, default=None)
    command.add_argument("--items-from", default=None, help="a data set, `starter`, or a JSONL file")
    command.add_argument(
        "--items",
        type=int,
        default=None,
        help="the number of items of each workload; default: it follows from --minutes",
    )
    command.add_argument("--minutes", type=float, default=8, help="the approximate duration of the measurement")
    command.add_argument("--repeats", type=int, default=7, help="the number of pairs of turns for each speed-up")
    command.add_argument("--only", nargs="+", choices=(*NAMES, PLAIN), help="measure only these speed-ups")
    command.add_argument(
        "--workloads", nargs="+", help="the workloads, such as `stereoset-intra/gpt2`; default: all eight"
    )
    command.add_argument(
        "--at-once", type=int, default=1, help="the number of concurrent workloads, each on --threads cores"
    )
    command.add_argument("--cores", type=int, nargs="+", help="run only on these cores")
    command.add_argument("--models-dir", type=Path, default=default_folder())
    command.add_argument("--json", type=Path, default=None, help="write the results to this JSON file")
    own = command.parse_args(arguments)
    shared = parser("").parse_args(["--workload", WORKLOADS[0][0], "--model", WORKLOADS[0][1]])
    return argparse.Namespace(**{**vars(shared), **vars(own)})


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all workloads, print the tables, and write the record."""
    options = options_of(arguments)
    chosen = [pair for pair in WORKLOADS if not options.workloads or "/".join(pair) in options.workloads]
    if not chosen:
        raise SystemExit(f"There is no such workload; choose from {', '.join(map('/'.join, WORKLOADS))}.")
    if options.cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, options.cores)
    machine = describe(torch.device(options.device))
    if options.at_once > 1:
        found = side_by_side(options, chosen)
        machine["threads"] = options.threads
    else:
        found = one_by_one(options, chosen)
    show.write_json({"machine": machine, "measured": [vars(one) for one in found]}, options.json)
    about = ", ".join(f"{name} {value}" for name, value in machine.items())
    print(f"{about}; {options.dtype}; {options.repeats} pairs of turns; {options.at_once} at once\n")
    print("\n".join([*table(found), "", *times(found)]))


def one_by_one(options: argparse.Namespace, chosen: Sequence[tuple[str, str]]) -> list[Measured]:
    """Measure the workloads in sequence, each with an equal share of the remaining time."""
    ends = time.monotonic() + 60 * options.minutes
    found: list[Measured] = []
    for number, (workload, model) in enumerate(chosen):
        share = (ends - time.monotonic()) / (len(chosen) - number)
        found.append(measure(options, workload, model, max(share, 1.0)))
    return found


def side_by_side(options: argparse.Namespace, chosen: Sequence[tuple[str, str]]) -> list[Measured]:
    """Measure several workloads in parallel, each in a process with its own cores, in rounds."""
    if not options.threads:
        raise SystemExit("--at-once needs --threads, the number of cores for each workload.")
    for workload, model in chosen:  # not timed, and not in two processes at the same time
        prepare(argparse.Namespace(**{**vars(options), "workload": workload, "model": model, "items": _FEW}))
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    rounds = [chosen[start : start + options.at_once] for start in range(0, len(chosen), options.at_once)]
    found: list[Measured] = []
    with TemporaryDirectory() as folder:
        for number, some in enumerate(rounds):
            processes, records = [], []
            for place, pair in enumerate(some):
                records.append(Path(folder) / f"{number}-{place}.json")
                own = cores[place * options.threads : (place + 1) * options.threads]
                command = [sys.executable, "-m", "perf.speedups", "--workloads", "/".join(pair)]
                command += ["--json", str(records[-1]), "--minutes", str(options.minutes / len(rounds))]
                command += ["--cores", *map(str, own)] if len(own) == options.threads else []
                processes.append(subprocess.Popen([*command, *_shared(options)], stdout=subprocess.DEVNULL))
            codes = [process.wait() for process in processes]
            if any(codes):
                raise SystemExit("One of the measurements failed.")
            for file in records:
                (one,) = json.loads(file.read_text(encoding="utf-8"))["measured"]
                pairs = {name: [(a, b) for a, b in some] for name, some in one["seconds"].items()}
                found.append(Measured(**{**one, "seconds": pairs}))
    return found


def _shared(options: argparse.Namespace) -> list[str]:
    """Return the options for the process of one workload."""
    found: list[str] = []
    for name in ("device", "dtype", "threads", "items_from", "items", "repeats", "only", "models_dir"):
        value = getattr(options, name)
        if value is not None:
            values = value if isinstance(value, list) else [value]
            found += [f"--{name.replace('_', '-')}", *map(str, values)]
    return found


if __name__ == "__main__":
    main()
