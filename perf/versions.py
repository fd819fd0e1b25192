"""Compare this checkout with another one in alternating turns: ratio of times and largest difference of scores.

git worktree add ../before COMMIT
python -m perf.versions ../before --turns 7 --threads 2

Each version runs in its own process, which loads the model once and then scores once per turn. The other checkout may
have its measurements in `perf/` or, if it is old, in `benchmarks/`.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from perf.made_models import default_folder

# Eight workloads: each kind of model within and between sentences, pairs, and GEST.
WORKLOADS = (
    ("stereoset-intra", "bert-29k"),
    ("stereoset-inter", "bert-29k"),
    ("stereoset-intra", "gpt2"),
    ("stereoset-inter", "gpt2"),
    ("stereoset-intra", "t5-base"),
    ("stereoset-inter", "t5-base"),
    ("crows-pairs", "bert-29k"),
    ("gest", "bert-29k"),
)

# Runs in both versions, so it uses only functions that both have.
_WORKER = """
import importlib, json, sys
room = sys.argv.pop(1)
prepared = importlib.import_module(room + ".prepared")
timing = importlib.import_module(room + ".timing")
options = prepared.parser("").parse_args()
ready = prepared.prepare(options)
ready.warm_up("tiltmeter")
print(json.dumps("ready"), flush=True)
for _ in sys.stdin:
    seconds, outcome = timing.timed(ready.tiltmeter, ready.model.device)
    outcome.settle()
    print(json.dumps([seconds, outcome.scores]), flush=True)
"""


@dataclass
class Version:
    """A checkout with a process that scores one workload."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, checkout: Path, arguments: list[str]) -> "Version":
        """Start the process; it loads the model and warms up."""
        room = "perf" if (checkout / "perf").is_dir() else "benchmarks"
        environment = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
        command = [sys.executable, "-c", _WORKER, room, *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=checkout
        )
        version = cls(process)
        version.read()
        return version

    def read(self) -> Any:
        """Return the next line of the process as JSON."""
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            try:
                return json.loads(line)
            except ValueError:
                continue  # output of a library
        raise SystemExit(f"A worker ended with exit code {self.process.wait()}.")

    def turn(self) -> tuple[float, dict[str, float]]:
        """Score once, and return the seconds and the scores."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        seconds, scores = self.read()
        return seconds, scores

    def stop(self) -> None:
        """Stop the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(here: Path, other: Path, arguments: list[str], turns: int) -> tuple[list[float], list[float], float]:
    """Return the seconds of both versions by turn, this one first, and the largest difference of scores."""
    versions = [Version.start(checkout, arguments) for checkout in (here, other)]
    seconds: tuple[list[float], list[float]] = ([], [])
    scores: list[dict[str, float]] = [{}, {}]
    for turn in range(turns):
        for index in (0, 1) if turn % 2 else (1, 0):
            took, scores[index] = versions[index].turn()
            seconds[index].append(took)
    for version in versions:
        version.stop()
    if scores[0].keys() != scores[1].keys():
        raise SystemExit("The two versions score different candidates.")
    return *seconds, max(abs(scores[0][key] - scores[1][key]) for key in scores[0])


def main() -> None:
    """Measure all workloads and print a table."""
    command = argparse.ArgumentParser(prog="python -m perf.versions", description=__doc__)
    command.add_argument("other", type=Path, help="the checkout of the other version")
    command.add_argument(
        "--workloads", nargs="+", default=None, help="the workloads, such as `gest/bert-29k`; default: all eight"
    )
    command.add_argument("--turns", type=int, default=7)
    command.add_argument("--items", type=int, default=200)
    command.add_argument("--items-from", default=None)
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--device", default="cpu")
    command.add_argument("--dtype", default="float32")
    command.add_argument("--models-dir", type=Path, default=default_folder())
    options = command.parse_args()
    shared = [f"--threads={options.threads}", f"--device={options.device}", f"--dtype={options.dtype}"]
    shared += [f"--items={options.items}", f"--models-dir={options.models_dir.resolve()}"]
    if options.items_from:
        shared.append(f"--items-from={options.items_from}")
    print("| workload | model | this version | the other | ratio (lowest–highest turn) | largest difference |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    ratios = []
    for workload, model in WORKLOADS:
        if options.workloads and f"{workload}/{model}" not in options.workloads:
            continue
        arguments = [f"--workload={workload}", f"--model={model}", *shared]
        new, old, difference = measure(Path.cwd(), options.other.resolve(), arguments, options.turns)
        by_turn = [one / other for one, other in zip(new, old, strict=True)]
        ratios.append(median(new) / median(old))
        print(
            f"| {workload} | {model} | {median(new):.3f} s | {median(old):.3f} s "
            f"| {ratios[-1]:.2f} ({min(by_turn):.2f}–{max(by_turn):.2f}) | {difference:.1e} |",
            flush=True,
        )
    print(
        f"\nMedian of the ratios: {median(ratios):.3f}; geometric mean: "
        f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}."
    )


if __name__ == "__main__":
    main()
