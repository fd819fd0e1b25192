"""Kill the creation of pairs and the training of a next-sentence head, and compare with uninterrupted commands.

    python -m perf.kills_training [--operations 20] [--random 20] [--seed 0]

A tiny model with dropout is trained on the CPU by the command line, in a forked process that is killed (SIGKILL) just
before a file operation or after random times, several times, and then finished. Weights and log must be identical bit
by bit, and so must the pairs of `train pairs`. No temporary files may remain, except the folder of a training that was
killed after its head was complete.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a forked process has no threads of its parent

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from perf.killing import Ending, attempt, even_sample, import_again
from tests.training.made_articles import made
from tests.training.made_task import make_model, make_pairs
from tiltmeter.cli import main as tiltmeter

Words = list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--operations", type=int, default=20, help="the number of kills of each command at file operations"
    )
    parser.add_argument("--random", type=int, default=20, help="the number of kills of each command after random times")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for command, words in commands(folder).items():
            began = time.monotonic()
            kills = storm(folder / f"scene-{command}", words, given.operations, given.random, random.Random(given.seed))
            print(f"{command}: {kills}, {time.monotonic() - began:.0f} s", flush=True)


def commands(folder: Path) -> dict[str, Words]:
    """Create the files of the commands, and return the words of each command without `--out`."""
    base = make_model("distilbert", folder / "base")
    pairs = make_pairs(folder / "pairs", 600)
    for name, sentences in made("en", 30).items():
        (folder / "articles").mkdir(exist_ok=True)
        (folder / "articles" / f"{name}.txt").write_text(" ".join(sentences), encoding="utf-8")
    more = ["--batch", "16", "--accumulate", "2", "--passes", "3", "--checkpoints", "5"]
    return {
        "pairs": ["train", "pairs", "--articles", f"en={folder / 'articles'}"],
        "next-sentence": ["train", "next-sentence", base, "--pairs", str(pairs), "--cpu", *more],
    }


def storm(scene: Path, words: Words, operations: int, randomly: int, dice: random.Random) -> dict[str, int]:
    """Kill a command at an even sample of operations and after random times; return the number of kills."""
    clean = _attempt(scene, words, count="operations")
    import_again(clean)
    expected = _outcome(scene)
    shutil.rmtree(scene)
    seconds = _attempt(scene, words).seconds
    kills = {"at operations": 0, "after times": 0}
    for place in even_sample(len(clean.operations), operations):
        shutil.rmtree(scene)
        kills["at operations"] += _attempt(scene, words, operation=place).killed
        _finish(scene, words, expected, f"operation {place}, {clean.operations[place - 1]}")
    while kills["after times"] < randomly:
        shutil.rmtree(scene)
        while kills["after times"] < randomly and _attempt(scene, words, seconds=dice.uniform(0, seconds)).killed:
            kills["after times"] += 1
        _finish(scene, words, expected, f"{kills['after times']} kills")
    return {"operations": len(clean.operations), **kills}


def _attempt(scene: Path, words: Words, **moment: Any) -> Ending:
    (scene / "tmp").mkdir(parents=True, exist_ok=True)

    def run() -> None:
        tempfile.tempdir = str(scene / "tmp")
        os.environ["TILTMETER_CACHE"] = str(scene / "cache")
        sys.argv = ["tiltmeter", *words, "--out", str(scene / "out")]
        tiltmeter()

    ending = attempt(run, printed=scene / "printed", **moment)
    if not ending.killed and ending.code:
        raise AssertionError(f"ends with {ending.code} {ending.error}: {(scene / 'printed').read_text()[-2000:]}")
    return ending


def _finish(scene: Path, words: Words, expected: dict[str, Any], where: str) -> None:
    # A complete result is not created again; the command ends with a message.
    complete = (scene / "out" / "config.json").exists() if "next-sentence" in words else (scene / "out").exists()
    if not complete:
        _attempt(scene, words)
    found = _outcome(scene)
    if complete:  # the head may be finished while the files of the training still exist
        left = ("out/.training", "out/.part", "out/.lock")
        found = {name: value for name, value in found.items() if not name.startswith(left)}
    assert found.keys() == expected.keys(), f"{where}: other files: {sorted(found.keys() ^ expected.keys())}"
    for name, content in expected.items():
        assert found[name] == content, f"{where}: {name} differs"


def _outcome(scene: Path) -> dict[str, Any]:
    """Return the content of all files without times."""
    found: dict[str, Any] = {}
    for path in sorted(scene.rglob("*")):
        name = str(path.relative_to(scene))
        if path.is_file() and name != "printed" and not name.startswith("cache/"):
            found[name] = path.read_bytes()
        elif path.name.endswith(".part") or name.startswith("tmp/"):
            found[name] = "a folder"
    if "out/training.json" in found:
        found["out/training.json"] = json.loads(found["out/training.json"])["log"]
        del found["out/README.md"]  # contains times
    return found


if __name__ == "__main__":
    main()
