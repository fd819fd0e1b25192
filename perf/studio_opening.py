"""The time of the studio to list a folder of runs, the first time and later.

python -m perf.studio_opening --runs 500 --times 40

Four synthetic runs in three languages are written many times with different names and dates. `first` is the first
listing of a new workspace, `later` a listing with stored summaries, and `changed` a listing with ten new runs. `page`
is the response to the HTTP request of a browser, by a server in another process; `first page` is that of a new
workspace, which reads runs for 0.4 seconds only.
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.runs.made import chosen_scores, run
from tests.studio.browser.conftest import Served, serving
from tiltmeter.runs.run_files import MANIFEST, MEASURES
from tiltmeter.studio.run_index import RunIndex
from tiltmeter.studio.studio_workspace import STATE, StudioWorkspace

SHARES = (45.0, 50.0, 52.0, 62.0)


def make_runs(folder: Path, count: int, items: int) -> None:
    """Write runs with four different verdicts, and as many records as a run on StereoSet in three languages."""
    templates = []
    for number, share in enumerate(SHARES):
        tables = [
            chosen_scores("model", share, n=items, language=language, targets=100) for language in ("en", "de", "fr")
        ]
        templates.append(run(*tables).save(folder / f"template-{number}"))
    for number in range(count):
        template = templates[number % len(templates)]
        place = folder / "runs" / f"run-{number:03d}"
        place.mkdir(parents=True)
        for file in template.iterdir():
            if file.name not in (MANIFEST, MEASURES):
                os.link(file, place / file.name)
        measures = (template / MEASURES).read_text(encoding="utf-8")
        (place / MEASURES).write_text(measures.replace('"model": "model"', f'"model": "model-{number}"'))
        manifest: dict[str, Any] = json.loads((template / MANIFEST).read_text(encoding="utf-8"))
        manifest["finished"] = f"2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}T12:00:00+00:00"
        (place / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    for template in templates:
        shutil.rmtree(template)


def timed(action: Callable[[], object]) -> float:
    """Return the seconds of an action."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def forget(folder: Path) -> None:
    """Delete the files of the studio in the workspace."""
    shutil.rmtree(folder / STATE, ignore_errors=True)


def line(name: str, seconds: Sequence[float]) -> str:
    """Return the median, 95th percentile and maximum of durations as a line."""
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    median, longest = statistics.median(ordered), ordered[-1]
    return f"{name:<12} median {median:7.3f} s   p95 {p95:7.3f} s   longest {longest:7.3f} s   n={len(ordered)}"


def listings(folder: Path, times: int) -> None:
    """Measure the index alone."""
    first = []
    for _ in range(3):
        forget(folder)
        first.append(timed(RunIndex(StudioWorkspace(folder)).list_runs))
    print(line("first", first))
    index = RunIndex(StudioWorkspace(folder))
    print(line("later", [timed(index.list_runs) for _ in range(times)]))
    changed = []
    for _ in range(times):
        for run_folder in sorted((folder / "runs").iterdir())[:10]:
            os.utime(run_folder / MANIFEST)
        changed.append(timed(index.list_runs))
    print(line("changed", changed))


def requests(folder: Path, times: int) -> None:
    """Measure the page over HTTP."""
    first = []
    for _ in range(3):
        forget(folder)
        with serving(folder) as studio, logged_in(studio) as client:
            first.append(timed(lambda client=client: page(client)))
    print(line("first page", first))
    with serving(folder) as studio, logged_in(studio) as client:
        while "being read" in page(client):
            pass
        print(line("page", [timed(lambda: page(client)) for _ in range(times)]))
        print(line("search", [timed(lambda: page(client, "/runs/list?text=model-49")) for _ in range(times)]))


@contextmanager
def logged_in(studio: Served) -> Iterator[httpx2.Client]:
    """Yield a client with the cookie of the owner."""
    with httpx2.Client(base_url=studio.address) as client:
        assert client.get(studio.start).status_code == 303
        yield client


def page(client: httpx2.Client, path: str = "/runs") -> str:
    """Return the text of a response."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--items", type=int, default=400, help="the number of items of each part and language")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_runs(folder, given.runs, given.items)
        size = sum(path.stat().st_size for path in folder.rglob(MEASURES)) / given.runs
        print(f"{given.runs} runs, {MEASURES} of {size / 1e6:.2f} MB each; load {os.getloadavg()[0]:.1f}", flush=True)
        listings(folder, given.times)
        requests(folder, given.times)


if __name__ == "__main__":
    main()
