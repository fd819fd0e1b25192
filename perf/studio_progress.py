"""Memory of the studio and its page while a run reports progress 100 times per second for six minutes.

    python -m perf.studio_progress [--events 36000] [--rate 100]

A synthetic job writes its progress file ten times as often as a real one. The resident memory of the studio and the
JavaScript heap of the page (after garbage collection) are compared with their values after a tenth of the events. The
exit code is 1 if one has grown by more than 10 MB.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tiltmeter.cluster.job_lock import JobLock
from tiltmeter.progress.progress import Progress
from tiltmeter.progress.progress_file import ProgressFile
from tiltmeter.runs.interim_values import InterimValue
from tiltmeter.studio.job_files import PROGRESS, QUEUED
from tiltmeter.studio.job_queue import JobQueue
from tiltmeter.studio.run_request import RunRequest
from tiltmeter.studio.studio_workspace import StudioWorkspace

LIMIT = 10_000_000
_RSS = re.compile(r"^VmRSS:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True)
class Growth:
    """Bytes before and after; the number of `messages` of the page in `seconds`, and of `nodes` in its document."""

    events: int
    seconds: float
    messages: int
    server_before: int
    server_after: int
    page_before: int
    page_after: int
    nodes_before: int
    nodes_after: int

    @property
    def server(self) -> int:
        return self.server_after - self.server_before

    @property
    def page(self) -> int:
        return self.page_after - self.page_before


def measured(browser: Any, events: int, rate: float) -> Growth:
    """Write this number of events at this rate for a job that a page watches."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = StudioWorkspace(folder)
        job = JobQueue(workspace).add_job(RunRequest(name="made", models=("embedded",), on=("starter:en",)))
        job_folder = workspace.state / "jobs" / job.id
        with JobLock(job_folder):
            (job_folder / QUEUED).unlink()
            with _served(Path(folder)) as (process, start, address):
                return _watched(browser, job_folder, process, start, address, events, rate)


def _watched(browser: Any, folder: Path, process: int, start: str, address: str, events: int, rate: float) -> Growth:
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    for domain in ("Network", "HeapProfiler", "Performance"):
        session.send(f"{domain}.enable")
    received: list[float] = []
    session.on("Network.eventSourceMessageReceived", lambda message: received.append(message["timestamp"]))
    page.goto(start)
    page.goto(f"{address}/new-run")
    page.get_by_role("heading", name="made").wait_for()
    progress = ProgressFile(folder / PROGRESS)
    warm_up = max(1, events // 10)
    _report(page, progress, events, 0, warm_up, rate)
    page.get_by_text(f"{warm_up:,} of {events:,} questions").wait_for()
    server_before, (page_before, nodes_before), messages = _rss(process), _heap(session), len(received)
    began = time.monotonic()
    _report(page, progress, events, warm_up, events, rate)
    seconds = time.monotonic() - began
    page.get_by_text(f"{events:,} of {events:,} questions").wait_for()
    server_after, (page_after, nodes_after) = _rss(process), _heap(session)
    context.close()
    return Growth(
        events=events,
        seconds=round(seconds, 1),
        messages=len(received) - messages,
        server_before=server_before,
        server_after=server_after,
        page_before=page_before,
        page_after=page_after,
        nodes_before=nodes_before,
        nodes_after=nodes_after,
    )


def _report(page: Any, progress: ProgressFile, events: int, first: int, last: int, rate: float) -> None:
    """Write the events from `first` to `last`, each at its time."""
    began = time.monotonic()
    with progress.watch_progress("embedded (causal)") as report:
        for number in range(first + 1, last + 1):
            report(Progress(number, events))
            value = InterimValue("embedded", "starter", "intrasentence", "en", "SS", 50 + number % 7, number)
            progress.record_interim_values(lambda value=value: [value])
            progress.write_if_changed()
            ahead = began + (number - first) / rate - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
            if number % round(rate) == 0:
                page.evaluate("0")  # Playwright handles its messages only while it is called
        # At the limits of the range the phase changes, and the last number stays.
        report(Progress(last, events))
        progress.write_if_changed()


@contextmanager
def _served(folder: Path) -> Iterator[tuple[int, str, str]]:
    """Start a studio on a folder; yield its process, the address with the token, and the address."""
    command = [sys.executable, "-m", "tiltmeter", "studio", str(folder), "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ.copy())
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"(http://127\.0\.0\.1:\d+)/start\?token=\S+", line):
                yield process.pid, found[0], found[1]
                break
        else:
            raise RuntimeError("the studio did not start")
    finally:
        process.terminate()
        process.wait()


def _rss(process: int) -> int:
    found = _RSS.search(Path(f"/proc/{process}/status").read_text(encoding="utf-8"))
    assert found is not None
    return 1024 * int(found[1])


def _heap(session: Any) -> tuple[int, int]:
    """Return the used JavaScript heap after garbage collection, and the number of nodes."""
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    metrics = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
    return int(session.send("Runtime.getHeapUsage")["usedSize"]), int(metrics["Nodes"])


def main() -> int:
    from tests.reports.chromium import chromium

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=36_000)
    parser.add_argument("--rate", type=float, default=100.0)
    arguments = parser.parse_args()
    with chromium() as browser:
        growth = measured(browser, arguments.events, arguments.rate)
    print(json.dumps({**asdict(growth), "server": growth.server, "page": growth.page}, indent=1))
    return int(max(growth.server, growth.page) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
