"""Run the real command on more than a thousand kinds of bad input, and count how it ends, by class.

    python -m perf.bad_inputs
    python -m perf.bad_inputs --classes models,servers --share 0.2 --show

Each kind is a call of the command line in a forked process with bounded memory, in an empty folder. It may
not end with a traceback, a fault that nobody expected, a crash or after more than `--seconds`; and exit code 0 is right
only with the scores of the sound run. `--processes N` runs N of the kinds as `python -m tiltmeter` as well.
"""

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pandas as pd

from perf.bad_input_cases import data, finished, folders, options, plans, servers, stores
from perf.bad_input_cases.scene import Case, Scene, make_scene
from tiltmeter.cli import main as tiltmeter
from tiltmeter.datasets import download
from tiltmeter.errors import TiltmeterError
from tiltmeter.making.project import new_project
from tiltmeter.models import client
from tiltmeter.runs.result import Result
from tiltmeter.translators import retries

# How a call can end; those from "traceback" on are failures.
ENDS = ("sentence", "same scores", "nothing measured", "traceback", "fault", "hang", "crash", "silent", "no words")
FAILURES = ENDS[3:]
_MEMORY = 6 << 30


def classes(scene: Scene, address: str) -> dict[str, Callable[[], Iterator[Case]]]:
    """The classes of bad input."""
    return {
        "options": lambda: options.cases(scene),
        "data files": lambda: data.cases(scene),
        "model folders": lambda: folders.cases(scene),
        "run folders": lambda: finished.cases(scene),
        "stores": lambda: stores.stores(scene),
        "caches": lambda: stores.caches(scene),
        "plans and projects": lambda: plans.cases(scene),
        "servers": lambda: servers.cases(scene, address),
        "outputs": lambda: stores.outputs(scene),
    }


def prepared(root: Path) -> Scene:
    """The scene, with a project and a warm cache; waits between attempts are cut short."""
    os.environ["TILTMETER_CACHE"] = str(root / "cache")
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["COLUMNS"] = "1000"
    scene = make_scene(root)
    new_project(root / "project", str(scene.items), language="de", system="file:translations.csv")
    client.LONGEST_WAIT = 0.01
    retries.PAUSES = (0.01,)
    download.PAUSES = (0.01,)
    return scene


def run_case(scene: Scene, case: Case, folder: Path, seconds: float) -> tuple[str, str]:
    """How the command ends, and what it printed."""
    folder.mkdir()
    case.prepare(folder)
    began = time.monotonic()
    child = os.fork()
    if not child:
        _child(case, folder)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - began > seconds:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hang", _printed(folder)
        time.sleep(0.002)
    return _judged(scene, case, folder, os.waitstatus_to_exitcode(status)), _printed(folder)


def _child(case: Case, folder: Path) -> None:
    """Run the command in this process, and end it."""
    code = 99
    try:
        os.chdir(folder)
        output = os.open(folder.parent / f"{folder.name}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        errors = os.open(folder.parent / f"{folder.name}.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(output, 1)
        os.dup2(errors, 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
        os.environ.update(case.environment)
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        if case.largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (case.largest_file, case.largest_file))
        if case.user is not None:
            os.setgroups([])
            os.setgid(case.user)
            os.setuid(case.user)
            os.environ["HOME"] = "/nonexistent"
        sys.argv = ["tiltmeter", *case.words]
        tiltmeter()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 1
        os._exit(code)


def _printed(folder: Path) -> str:
    parts = [folder.parent / f"{folder.name}.{end}" for end in ("err", "out")]
    return "\n".join(part.read_text(encoding="utf-8", errors="replace") for part in parts if part.exists())


def _judged(scene: Scene, case: Case, folder: Path, code: int) -> str:
    printed = _printed(folder)
    if "Traceback (most recent call last)" in printed or code == 99:
        return "traceback"
    if code == 70:
        return "fault"
    if code < 0 or code > 128:
        return "crash"
    if code:
        # A limit on the size of files holds for what is printed, too.
        return "sentence" if printed.strip() or case.largest_file is not None else "no words"
    if case.scores is None or not (folder / case.scores).is_dir():
        return _judged_reading(scene, folder)
    try:
        return "same scores" if _same(Result.load(scene.run), Result.load(folder / case.scores)) else "silent"
    except TiltmeterError:
        return "silent"


def _judged_reading(scene: Scene, folder: Path) -> str:
    """Of a command that reads a run, whether it read the scores and numbers of the sound one."""
    if not (folder / "run").is_dir():
        return "nothing measured"
    clean, read = Result.load(scene.run), Result.load(folder / "run")
    return "same scores" if _same(clean, read) and _numbers(clean) == _numbers(read) else "silent"


def _numbers(result: Result) -> list[tuple[str, ...]]:
    # Not the other fields of a record, which nobody prints as a number of the model.
    names = (
        "model",
        "benchmark",
        "part",
        "language",
        "view",
        "group",
        "measure",
        "value",
        "low",
        "high",
        "n",
    )
    return sorted(
        (*(str(getattr(record, name)) for name in names), record.verdict.words if record.verdict else "")
        for record in result.records
    )


def _same(clean: Result, other: Result) -> bool:
    """Whether all scores are those of the clean run, or what is left out is listed."""
    keys = ["item", "candidate", "role"]
    both = pd.merge(clean.scores[[*keys, "score"]], other.scores[[*keys, "score"]], on=keys, how="outer")
    told = bool(other.manifest["skipped"] or other.manifest["refused"] or other.manifest["notes"])
    gone = both["score_y"].isna() if told or len(other.scores) < len(clean.scores) else False
    return bool(((both["score_x"] - both["score_y"]).abs().lt(1e-5) | gone).all())


def as_process(case: Case, folder: Path, seconds: float) -> str:
    """How `python -m tiltmeter` ends; importing takes most of its time, so it gets more of it."""
    folder.mkdir()
    case.prepare(folder)
    words = [sys.executable, "-m", "tiltmeter", *case.words]
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, **case.environment},
            capture_output=True,
            timeout=seconds + 30,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "hang"
    printed = (done.stderr + done.stdout).decode(errors="replace")
    if "Traceback (most recent call last)" in printed or done.returncode == 70:
        return "traceback" if done.returncode != 70 else "fault"
    return "crash" if done.returncode < 0 else "sentence" if done.returncode else "nothing measured"


def main() -> int:
    """Run them, and print the counts; the exit code is 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", default="", help="only these, separated by commas")
    parser.add_argument("--share", type=float, default=1.0, help="a random part of the kinds of each class")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0, help="the longest that a call may take")
    parser.add_argument("--processes", type=int, default=0, help="so many kinds as processes of their own, too")
    parser.add_argument("--show", action="store_true", help="print what every failed call printed")
    parser.add_argument("--all", action="store_true", help="print how every call ended")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tiltmeter-bad-") as root:
        Path(root).chmod(0o755)
        failed = counted(Path(root), given)
    return 1 if failed else 0


def counted(root: Path, given: argparse.Namespace) -> int:
    """Print a line for each class; returns the number of failures."""
    scene = prepared(root)
    chance = random.Random(given.seed)
    total: Counter[str] = Counter()
    server = ThreadingHTTPServer(("127.0.0.1", 0), servers.OddServer)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    everything: list[Case] = []
    print(f"{'class':<20}{'kinds':>6}", *(f"{end:>17}" for end in ENDS), f"{'longest':>9}", sep="")
    for name, make in classes(scene, f"http://127.0.0.1:{server.server_port}").items():
        if given.classes and name not in given.classes.split(","):
            continue
        chosen = [case for case in make() if chance.random() < given.share]
        everything += chosen
        ends: Counter[str] = Counter()
        longest = 0.0
        for number, case in enumerate(chosen):
            folder = root / f"{name.replace(' ', '-')}-{number}"
            began = time.monotonic()
            end, printed = run_case(scene, case, folder, given.seconds)
            longest = max(longest, time.monotonic() - began)
            ends[end] += 1
            if end in FAILURES or given.all:
                print(f"  {end}: {case.name}", flush=True)
                if given.show:
                    print("    " + "\n    ".join(printed.strip().splitlines()[-6:]), flush=True)
            _clear(folder)
        print(
            f"{name:<20}{len(chosen):>6}",
            *(f"{ends[end]:>17}" for end in ENDS),
            f"{longest:>8.1f}s",
            sep="",
            flush=True,
        )
        total += ends
    for number, case in enumerate(chance.sample(everything, min(given.processes, len(everything)))):
        if case.user is None and case.largest_file is None:
            total[f"process: {as_process(case, root / f'process-{number}', given.seconds)}"] += 1
    print(f"{total.total()} calls:", ", ".join(f"{count} {end}" for end, count in total.most_common()))
    return sum(count for end, count in total.items() if end.removeprefix("process: ") in FAILURES)


def _clear(folder: Path) -> None:
    for path in (folder, *folder.glob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)
    for end in ("out", "err"):
        folder.with_name(f"{folder.name}.{end}").unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
