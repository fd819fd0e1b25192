"""Kill the training of a next-sentence head at random moments, and compare it with one that was not interrupted.

    python -m perf.kills_training [--kills 20] [--seed 0]

A tiny model (with dropout) is trained on the CPU by the command line, in a process that is killed with SIGKILL after a
random time, or when it has written two more checkpoints, again and again; then it is left to finish. Weights have to be
the same bit for bit, and so has the curve.
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
        process = _train(base, pairs, folder / "whole", given.kills)
        while not (every := _last_step(folder / "whole")):
            assert process.poll() is None, "it ended before its first checkpoint"
            time.sleep(0.02)
        first = time.monotonic() - began
        process.wait()
        whole = time.monotonic() - began
        print(f"{first:.1f} s to the first checkpoint, {whole:.1f} s in all", flush=True)
        chance = random.Random(given.seed)
        for kill in range(1, given.kills + 1):
            before = _last_step(folder / "killed")
            process = _train(base, pairs, folder / "killed", given.kills)
            end = time.monotonic() + chance.uniform(0.5, 1.3) * first
            while time.monotonic() < end and _last_step(folder / "killed") < before + 2 * every:
                time.sleep(0.02)
            assert process.poll() is None, "it ended before it was killed"
            process.send_signal(signal.SIGKILL)
            process.wait()
            print(f"kill {kill}: at update {_last_step(folder / 'killed')} or later", flush=True)
        _train(base, pairs, folder / "killed", given.kills).wait()
        (weights, curve), (other_weights, other_curve) = (_outcome(folder / name) for name in ("whole", "killed"))
        assert curve == other_curve, "the curves differ"
        assert weights.keys() == other_weights.keys()
        assert all(torch.equal(tensor, other_weights[name]) for name, tensor in weights.items()), "the weights differ"
        print(f"{given.kills} kills: {len(weights)} tensors and {len(curve)} entries of the curve are the same")


def _last_step(folder: Path) -> int:
    """The update of the last whole checkpoint; 0 before the first."""
    found = folder.glob(".training/checkpoints/checkpoint-*/complete")
    return max((int(path.parent.name.rpartition("-")[2]) for path in found), default=0)


def _train(base: str, pairs: Path, out: Path, kills: int) -> subprocess.Popen[bytes]:
    # Of so many checkpoints that all kills come before the end.
    words = ["train", "next-sentence", base, "--pairs", str(pairs), "--out", str(out), "--cpu"]
    more = ["--batch", "16", "--accumulate", "2", "--passes", "12", "--checkpoints", str(3 * kills)]
    return subprocess.Popen(
        [sys.executable, "-m", "tiltmeter", *words, *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _outcome(folder: Path) -> tuple[dict[str, torch.Tensor], list[dict[str, float]]]:
    tensors = {**load_file(folder / "model.safetensors"), **load_file(folder / "head.safetensors")}
    log = json.loads((folder / "training.json").read_text())["log"]
    return tensors, log


if __name__ == "__main__":
    main()
