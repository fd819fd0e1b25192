"""Kill the training of a next-sentence head at random moments, and compare it with one that was not interrupted.

    python -m perf.kills_training [--kills 20] [--seed 0]

A tiny model (with dropout) is trained on the CPU by the command line, in a process that is killed with SIGKILL after a
random time, again and again; then it is left to finish. Weights have to be the same bit for bit, and so has the curve.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from safetensors.torch import load_file

from tests.training.made_task import make_model, make_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = make_model("distilbert", folder / "base")
        pairs = make_pairs(folder / "pairs", 6_000)
        began = time.monotonic()
        process = _train(base, pairs, folder / "whole")
        while not list((folder / "whole").glob(".training/checkpoints/*/complete")):
            time.sleep(0.05)
        first = time.monotonic() - began
        process.wait()
        rest = time.monotonic() - began - first
        print(f"{first:.1f} s to the first checkpoint, {rest:.1f} s from there", flush=True)
        chance = random.Random(given.seed)
        killed = 0
        while killed < given.kills:
            process = _train(base, pairs, folder / "killed")
            # On the way to the next checkpoints, so that all kills come before the end.
            time.sleep(0.9 * first + chance.uniform(0, 0.8) * rest / given.kills)
            if process.poll() is not None:
                break  # it finished before
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
            steps = sorted(
                int(p.name.split("-")[1]) for p in (folder / "killed").glob(".training/checkpoints/checkpoint-*")
            )
            print(f"kill {killed}: checkpoints {steps}", flush=True)
        _train(base, pairs, folder / "killed").wait()
        first, second = (_outcome(folder / name) for name in ("whole", "killed"))
        assert first[1] == second[1], "the curves differ"
        assert first[0].keys() == second[0].keys()
        assert all(torch.equal(first[0][name], second[0][name]) for name in first[0]), "the weights differ"
        print(f"{killed} kills: {len(first[0])} tensors and {len(first[1])} entries of the curve are the same")


def _train(base: str, pairs: Path, out: Path) -> subprocess.Popen[bytes]:
    words = ["train", "next-sentence", base, "--pairs", str(pairs), "--out", str(out), "--cpu"]
    more = ["--batch", "16", "--accumulate", "2", "--passes", "24", "--checkpoints", "40"]
    return subprocess.Popen(
        [sys.executable, "-m", "tiltmeter", *words, *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _outcome(folder: Path) -> tuple[dict[str, torch.Tensor], list[dict[str, float]]]:
    tensors = {**load_file(folder / "model.safetensors"), **load_file(folder / "head.safetensors")}
    log = json.loads((folder / "training.json").read_text())["log"]
    return tensors, log


if __name__ == "__main__":
    main()
