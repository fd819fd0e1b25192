"""Damage the write-ahead log of a project in many ways: no decision may be lost without a message.

    python -m perf.damaged_logs --decisions 155 --damages 60

A process makes decisions and kills itself (SIGKILL). Its log is damaged in many ways, and the project is opened after
each damage. This is done twice: normally, and with a reader that prevents decisions from being copied out of the log.
"""

import argparse
import os
import random
import shutil
import signal
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from perf.reviewed_project import make_project
from tiltmeter.errors import TiltmeterError
from tiltmeter.making.project import DATABASE, open_project
from tiltmeter.making.review.review import Review

REVIEWERS = ("Ana", "Eva")
_LOG = f"{DATABASE}-wal"
_EARLIER = "earlier.log"


def decide_and_die(folder: Path, decisions: int, *, blocked: bool) -> None:
    """Create a project in `folder/project` with this number of decisions, in a process that is then killed.

    After two thirds of the decisions, the log is copied; with `blocked`, a reader holds this state.
    """
    make_project(folder, (decisions + 1) // 2, REVIEWERS, agreeing=2, per_item=2)
    child = os.fork()
    if child == 0:
        try:
            _decide(folder, decisions, blocked=blocked)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the reviewer failed"


def _decide(folder: Path, decisions: int, *, blocked: bool) -> None:
    reader = sqlite3.connect(folder / "project" / DATABASE, isolation_level=None)
    review = Review(open_project(folder / "project"))
    for number in range(decisions):
        if number == decisions * 2 // 3:
            shutil.copy(folder / "project" / _LOG, folder / _EARLIER)
            if blocked:
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM decisions").fetchall()
        review.decide_on_item(REVIEWERS[number % 2], f"i{number // 2}", "accept")
    os.kill(os.getpid(), signal.SIGKILL)


def damages(log: bytes, earlier: bytes, number: int, seed: int) -> Iterator[tuple[str, bytes | None]]:
    """Yield types of damage with the damaged log; None means that the log is deleted."""
    choice = random.Random(seed)
    yield from (("deleted", None), ("emptied", b""), ("earlier log", earlier))
    yield from (("header zeroed", bytes(32) + log[32:]), ("garbage", choice.randbytes(len(log))))
    yield from (("last page garbage", log[:-4096] + choice.randbytes(4096)), ("salts zeroed", log[:16] + bytes(16)))
    ways: list[Callable[[int], tuple[str, bytes]]] = [
        lambda place: ("byte flipped", log[:place] + bytes([log[place] ^ 1]) + log[place + 1 :]),
        lambda place: ("cut off", log[:place]),
        lambda place: ("page zeroed", log[:place] + bytes(min(4096, len(log) - place)) + log[place + 4096 :]),
        lambda place: ("frames swapped", log[:32] + log[place:] + log[32:place]),
    ]
    for turn in range(number):
        yield ways[turn % len(ways)](choice.randrange(32, len(log)))


def open_damaged(folder: Path, decisions: int, number: int = 60, seed: int = 1) -> Counter[tuple[str, str]]:
    """Return how often a project was whole, refused or lost decisions, by type of damage."""
    found: Counter[tuple[str, str]] = Counter()
    log, copy = (folder / "project" / _LOG).read_bytes(), folder / "copy"
    for way, damaged in damages(log, (folder / _EARLIER).read_bytes(), number, seed):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder / "project", copy)
        (copy / _LOG).unlink()
        if damaged is not None:
            (copy / _LOG).write_bytes(damaged)
        found[way, opened(copy, decisions)] += 1
    return found


def opened(project: Path, decisions: int) -> str:
    """Return the outcome of opening a project that had this number of decisions."""
    try:
        with open_project(project) as found:
            kept = len(list(found.store.list_decisions()))
    except TiltmeterError:
        return "refused"
    return "whole" if kept == decisions else "lost"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=155)
    parser.add_argument("--damages", type=int, default=60)
    options = parser.parse_args()
    os.environ["TILTMETER_CACHE"] = tempfile.mkdtemp()
    for blocked in (False, True):
        with tempfile.TemporaryDirectory() as name:
            decide_and_die(Path(name), options.decisions, blocked=blocked)
            found = open_damaged(Path(name), options.decisions, options.damages)
            total: Counter[str] = Counter()
            for (way, outcome), times in sorted(found.items()):
                total[outcome] += times
                print(f"{'with' if blocked else 'without'} a reader, {way}: {outcome} {times}")
            print(f"{'with' if blocked else 'without'} a reader: {dict(total)}, lost {total['lost']}", flush=True)


if __name__ == "__main__":
    main()
