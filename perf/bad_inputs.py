"""Run the command on thousands of bad inputs, and count the outcomes by class.

    python -m perf.bad_inputs
    python -m perf.bad_inputs --classes "model folders,servers" --share 0.2 --show

Each bad input is passed to the command line in a forked process with limited memory, in an empty folder. The command
must not end with a traceback, an internal error or a crash. Exit code 0 is correct only with the scores and values of
the clean run, or with a note about the change. A call that takes more than `--seconds` of CPU time is a hang; the limit
of wall time increases with the load of the machine. `--processes N` also runs N of them as `python -m tiltmeter`.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path

# No threads in the process that forks, neither of torch nor of the allocator of Arrow.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

from perf.bad_input_cases import boards, data, finished, folders, many_runs, matrices, options, plans, servers, stores  # noqa: E402
from perf.bad_input_cases.calls import Ending, called, import_what_it_imports, in_fork  # noqa: E402
from perf.bad_input_cases.judging import FAILURES, GOOD, judged  # noqa: E402
from perf.bad_input_cases.scene import Case, Scene, make_scene  # noqa: E402
from tiltmeter.datasets import http_download  # noqa: E402
from tiltmeter.http_client import retries  # noqa: E402
from tiltmeter.making.project import create_project  # noqa: E402
from tiltmeter.reports import report_page  # noqa: E402
from tiltmeter.reports.vega_bundle import load_vega_bundle  # noqa: E402


def classes(scene: Scene, address: str) -> dict[str, Callable[[], Iterator[Case]]]:
    """Return the classes of bad input."""
    return {
        "options": lambda: options.cases(scene),
        "data files": lambda: data.cases(scene),
        "model folders": lambda: folders.cases(scene),
        "run folders": lambda: finished.cases(scene),
        "stores": lambda: stores.stores(scene),
        "caches": lambda: stores.caches(scene),
        "plans and projects": lambda: plans.cases(scene),
        "plans and matrices": lambda: matrices.cases(scene),
        "boards and groups": lambda: boards.cases(scene),
        "servers": lambda: servers.cases(scene, address),
        "outputs": lambda: stores.outputs(scene),
    }


def prepared(root: Path) -> Scene:
    """Prepare the scene with a project and a filled cache, and shorten the pauses between retries."""
    os.environ.update(TILTMETER_CACHE=str(root / "cache"), HF_HUB_OFFLINE="1", COLUMNS="200")
    retries.PAUSES = (0.01,)
    http_download.PAUSES = (0.01,)
    scene = Scene(root)
    in_fork(lambda: make_scene(scene))
    in_fork(lambda: _make_project(scene))
    in_fork(lambda: many_runs.make_many(scene))
    return scene


def import_modules(scene: Scene) -> None:
    """Import all modules in advance, which takes as long as a dozen calls."""
    import_what_it_imports(lambda: _use(scene))
    # The scripts of reports are the same for all reports; loading them starts threads.
    scripts = in_fork(load_vega_bundle)
    report_page.load_vega_bundle = lambda: scripts  # type: ignore[attr-defined]


def _make_project(scene: Scene) -> None:
    create_project(scene.root / "project", str(scene.items), language="de", system="file:translations.csv")


def _use(scene: Scene) -> None:
    """Import the modules of the commands by using them."""
    from tiltmeter.cli import main as tiltmeter

    os.chdir(scene.root)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for words in options.sound_calls(scene).values():
        sys.argv = ["tiltmeter", *words]
        with suppress(SystemExit):
            tiltmeter()


def served() -> tuple[int, str]:
    """Start the misbehaving server in a separate process, and return the process and the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), servers.OddServer)
    child = os.fork()
    if not child:
        server.daemon_threads = True
        server.serve_forever()
    server.socket.close()
    return child, f"http://127.0.0.1:{server.server_port}"


def as_process(scene: Scene, case: Case, folder: Path, seconds: float) -> str:
    """Return the outcome of `python -m tiltmeter`; it gets more time, because importing takes most of it."""
    folder.mkdir()
    in_fork(lambda: case.prepare(folder))
    words = [sys.executable, "-m", "tiltmeter", *case.words]
    environment = {**os.environ, **case.environment}
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, timeout=seconds + 30, check=False
        )
    except subprocess.TimeoutExpired:
        return "hang"
    output, errors = (part.decode(errors="replace") for part in (done.stdout, done.stderr))
    return judged(scene, case, folder, Ending(done.returncode, output, errors, 0.0, 0.0))


def main() -> int:
    """Run all cases and print the counts; exit with code 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", default="", help="run only these classes, separated by commas")
    parser.add_argument(
        "--share", type=float, default=1.0, help="run only this share of the bad inputs of each class, chosen at random"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0, help="the time limit of a call, in seconds of CPU time")
    parser.add_argument(
        "--processes", type=int, default=0, help="also run this number of bad inputs as `python -m tiltmeter`"
    )
    parser.add_argument("--only", default="", help="run only bad inputs whose name contains this text")
    parser.add_argument("--show", action="store_true", help="print the output of each failed call")
    parser.add_argument("--all", action="store_true", help="print the outcome of each call")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tiltmeter-bad-", ignore_cleanup_errors=True) as root:
        Path(root).chmod(0o755)
        server, address = served()
        try:
            failed = counted(prepared(Path(root)), address, given)
        finally:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
    return 1 if failed else 0


def counted(scene: Scene, address: str, given: argparse.Namespace) -> int:
    """Print a line for each class, and return the number of failures."""
    chance = random.Random(given.seed)
    total: Counter[str] = Counter()
    everything: list[Case] = []
    imported = False
    print(
        f"{'class':<20}{'kinds':>6}{'run':>6}", *(f"{end:>13}" for end in (*GOOD, *FAILURES)), f"{'longest':>9}", sep=""
    )
    for name, make in classes(scene, address).items():
        if given.classes and name not in given.classes.split(","):
            continue
        kinds = list(make())
        chosen = [case for case in kinds if chance.random() < given.share and given.only in case.name]
        everything += chosen
        # Another user may not be able to read the folder of the packages.
        if not imported and (given.share > 0.05 or any(case.user is not None for case in chosen)):
            import_modules(scene)
            imported = True
        ends: Counter[str] = Counter()
        longest = 0.0
        for number, case in enumerate(chosen):
            folder = scene.root / f"{name.replace(' ', '-')}-{number}"
            ending = called(case, folder, given.seconds)
            end = judged(scene, case, folder, ending)
            longest = max(longest, ending.seconds)
            ends[end] += 1
            if end in FAILURES or given.all:
                print(f"  {end} (exit code {ending.code}, {ending.seconds:.1f} s): {case.name}", flush=True)
                if given.show:
                    for text in (ending.output, ending.errors):
                        print(*(f"    {line}" for line in text.strip().splitlines()[-6:]), sep="\n", flush=True)
            _clear(folder)
        counts = (f"{ends[end]:>13}" for end in (*GOOD, *FAILURES))
        print(f"{name:<20}{len(kinds):>6}{len(chosen):>6}", *counts, f"{longest:>8.1f}s", sep="", flush=True)
        total += ends
    alone = [case for case in everything if case.user is None and case.largest_file is None]
    for number, case in enumerate(chance.sample(alone, min(given.processes, len(alone)))):
        end = as_process(scene, case, scene.root / f"process-{number}", given.seconds)
        if end in FAILURES:
            print(f"  {end} as a process: {case.name}", flush=True)
        total[f"process: {end}"] += 1
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
