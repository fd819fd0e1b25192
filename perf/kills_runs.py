"""Kill runs, reports, exports, comparisons, checks and downloads, and check that nothing is lost or incomplete.

    python -m perf.kills_runs
    python -m perf.kills_runs --kinds run,chat --operations 40 --random 20

Each command runs in a forked process that is killed (SIGKILL) just before a file operation (each, or an even sample),
and after random times, several times in a row. After a kill, all files must be as before or as after the command. Then
the same command must continue: it requests no stored answer again, and writes the same files, byte by byte except for
times, as without kills. No temporary files may remain.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a forked process has no threads of its parent

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perf.bad_input_cases.scene import save_model
from perf.killed_scenes import DATA, FILES, HUB_ID, KINDS, PORTIONS, Kind, Scene, World, run_words
from perf.killing import Log, even_sample, import_again
from perf.stand_ins import stand_ins


@contextmanager
def made_world(root: Path) -> Iterator[World]:
    """Create the tiny model and the finished runs, and start the servers."""
    save_model(root / "model")
    sent = Log(root / "sent.log")
    data = {f"/mirror/{file.name}": DATA for file in FILES}
    with stand_ins(sent, data, {HUB_ID: root / "model"}) as address:
        world = World(root, address, sent)
        _warm_up(world)
        yield world
    sent.close()


def _warm_up(world: World) -> None:
    """Import the modules of a run, so that forked processes need not, and save the files that other commands need."""
    for name, words in (
        ("second", ["run", world.model, *PORTIONS, "--dtype", "bfloat16", "--out", "out", "--no-report"]),
        ("first", run_words(world)),
    ):
        scene = Scene(world, Kind(lambda _world, words=words: words), world.root / "warming")  # type: ignore[misc]
        ending = scene.attempt(count="operations")
        import_again(ending)
        shutil.move(scene.root / "out", world.finished(name))
        if name == "first":
            shutil.move(scene.root / "cache", world.root / "warm-cache")
        scene.clear()
    # A run that was killed after half of its batches were stored.
    commits = [place for place, name in enumerate(ending.operations, 1) if name == "SQLite COMMIT"]
    scene = Scene(world, KINDS["run"], world.root / "warming")
    assert scene.attempt(operation=commits[len(commits) // 2]).killed
    shutil.move(scene.root / "cache", world.root / "half-cache")
    scene.clear()


def at_operations(world: World, name: str, most: int | None) -> dict[str, Any]:
    """Kill a command just before each of its file operations, or an even sample of them."""
    kind = KINDS[name]
    clean = _clean(world, kind)
    number = len(clean.operations) if not kind.of_workers else _operations_of_workers(world, kind)
    kills = again = 0
    for index in even_sample(number, most):
        scene = Scene(world, kind, world.root / "scene")
        first = scene.attempt(operation=index)
        kills += first.killed
        where = f"{name}, operation {index} of {number}: {'' if kind.of_workers else clean.operations[index - 1]}"
        again += _finish(scene, clean, where)
    return {"kind": name, "operations": number, "kills": kills, "sent again": again}


def at_random(world: World, name: str, kills: int, dice: random.Random) -> dict[str, Any]:
    """Kill a command this number of times after random times, several times in a row until it is finished."""
    kind = KINDS[name]
    clean = _clean(world, kind)
    scene = Scene(world, kind, world.root / "scene")
    seconds = scene.attempt().seconds
    scene.clear()
    done = again = rounds = 0
    while done < kills:
        rounds += 1
        scene = Scene(world, kind, world.root / "scene")
        moments = []
        while done < kills:
            moments.append(dice.uniform(0, seconds))
            if not scene.attempt(seconds=moments[-1]).killed:
                break
            done += 1
            _checked(lambda scene=scene: scene.check_whole(clean.files), f"{name}, killed after {moments} s")  # type: ignore[misc]
        again += _finish(scene, clean, f"{name}, killed after {moments} s")
    return {"kind": name, "rounds": rounds, "kills": done, "sent again": again}


@dataclass(frozen=True, slots=True)
class _Clean:
    """The files, requests and file operations of a command without kills."""

    files: dict[str, bytes]
    asked: set[str]
    operations: tuple[str, ...]


def _clean(world: World, kind: Kind) -> _Clean:
    scene = Scene(world, kind, world.root / "clean")
    ending = scene.attempt(count="operations")
    import_again(ending)
    clean = _Clean(scene.state(), scene.asked(), ending.operations)
    scene.check_finished(clean.files, clean.asked)
    scene.clear()
    return clean


def _operations_of_workers(world: World, kind: Kind) -> int:
    """Return the number of file operations of a worker at which it can be killed."""
    number = 0
    while True:
        scene = Scene(world, kind, world.root / "counting")
        killed = scene.attempt(operation=number + 1).killed
        scene.clear()
        if not killed:
            return number
        number += 1


def _finish(scene: Scene, clean: _Clean, where: str) -> int:
    """Finish the same command, compare its files, and return the number of texts that were sent again."""

    def finish() -> int:
        scene.check_whole(clean.files)
        assert not scene.attempt().killed
        scene.check_finished(clean.files, clean.asked)
        return scene.sent_again()

    again = _checked(finish, where)
    scene.clear()
    return again


def _checked(check: Callable[[], Any], where: str) -> Any:
    try:
        return check()
    except AssertionError as error:
        raise AssertionError(f"{where}: {error}") from error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", help=f"the commands to kill: {', '.join(KINDS)}; default: all")
    parser.add_argument(
        "--operations", type=int, help="the number of kills of each command at file operations; default: all operations"
    )
    parser.add_argument("--random", type=int, default=10, help="the number of kills of each command after random times")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--keep-going", action="store_true", help="after a failure, print it and continue with the next command"
    )
    given = parser.parse_args()
    dice = random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="kills-") as folder, made_world(Path(folder)) as world:
        for name in given.kinds.split(",") if given.kinds else KINDS:
            for storm in (
                lambda name=name: at_operations(world, name, given.operations),
                lambda name=name: at_random(world, name, given.random, dice),
            ):
                began = time.monotonic()
                try:
                    result = storm()
                except AssertionError as error:
                    if not given.keep_going:
                        raise
                    print(error, flush=True)
                    shutil.rmtree(world.root / "scene", ignore_errors=True)
                    continue
                print(*(f"{key}: {value}" for key, value in result.items()), f"{time.monotonic() - began:.0f} s",
                      sep=", ", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
