"""Many simultaneous reviewers in a studio that may be killed: response times, and a check that nothing is lost.

    python -m perf.studio_review                      30 reviewers, 60 decisions a second, 5 minutes
    python -m perf.studio_review --kills 50           the same, and `kill -9` of the studio 50 times
    python -m perf.studio_review --openings 20        how long a project takes to open

The studio is a separate process, and the reviewers are threads of this process on the same machine. Each sends
decisions at scheduled times, also if an earlier response was late; the response contains the next item, and its time is
counted from the scheduled time. A response acknowledges a decision: at the end, every acknowledged decision must be in
the database. With kills, the times of decisions that waited for a killed studio do not count.
"""

import argparse
import html
import http.client
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import sqlite3
import tempfile
import threading
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from perf.reviewed_project import make_project
from tiltmeter.making.project import DATABASE, open_project
from tiltmeter.studio.project_threads import ProjectThreads

QUERY = "project=project"
# The number of ten decisions that accept the item; the others edit or drop it.
_KEEP = 0.9


def reviewer_names(reviewers: int) -> list[str]:
    return [f"r{number}" for number in range(reviewers)]


# Studios are forked from a process that has imported everything, so that they restart immediately after a kill.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tiltmeter.studio.server"])


def _serve(folder: Path, port: int, tell: Connection) -> None:
    from tiltmeter.studio.server import open_socket, run_server
    from tiltmeter.studio.studio_config import build_local_config

    run_server(build_local_config(folder, port), open_socket("127.0.0.1", port), tell=tell.send)


class KilledStudio:
    """A studio in a separate process that can be killed and restarted at the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.token = ""
        self._process: Any = None

    def start(self) -> None:
        said, tell = _PROCESSES.Pipe(duplex=False)
        self._process = _PROCESSES.Process(target=_serve, args=(self.folder, self.port, tell), daemon=True)
        self._process.start()
        tell.close()
        found = re.search(r"token=(\S+)", said.recv())
        assert found is not None
        self.token = found[1]
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
            except OSError:
                assert self._process.is_alive(), "the studio ended"
                threading.Event().wait(0.02)
            else:
                return

    def kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()

    def memory(self) -> float:
        """Return the memory of the process, in MB."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclass
class Tally:
    """The observations of all reviewers."""

    times: list[float] = field(default_factory=list)
    acknowledged: list[tuple[str, str, str, str]] = field(default_factory=list)
    interrupted: int = 0
    refused: list[str] = field(default_factory=list)
    idle: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class LoadReviewer(threading.Thread):
    """A reviewer who decides at a rate."""

    def __init__(self, studio: KilledStudio, name: str, tally: Tally, rate: float, end: threading.Event) -> None:
        super().__init__(daemon=True)
        self._studio, self._name, self._tally = studio, name, tally
        self._rate, self._end = rate, end
        self._choice = random.Random(name)
        self._connection: http.client.HTTPConnection | None = None
        self._cookie = self._csrf = ""
        self.error: BaseException | None = None

    def _send(self, method: str, path: str, values: dict[str, str] | None = None) -> tuple[int, str, Any]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._studio.port, timeout=60)
        headers = {"Cookie": self._cookie, "HX-Request": "true"}
        if method == "POST":
            headers |= {
                "Origin": f"http://127.0.0.1:{self._studio.port}",
                "X-CSRF-Token": self._csrf,
                "Content-Type": "application/x-www-form-urlencoded",
            }
        try:
            self._connection.request(method, path, urlencode(values or {}), headers)
            answer = self._connection.getresponse()
            content = answer.read().decode()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise
        return answer.status, content, answer.headers

    def log_in(self) -> None:
        status, _, headers = self._send("GET", f"/start?token={self._studio.token}")
        assert status in (204, 303), status
        self._cookie = headers["Set-Cookie"].split(";")[0]
        self._read_csrf()
        status, content, headers = self._send("POST", f"/review/who?{QUERY}", {"new": self._name})
        assert status == 204, content
        self._cookie = headers["Set-Cookie"].split(";")[0]
        self._read_csrf()  # each person has a separate session

    def _read_csrf(self) -> None:
        _, content, _ = self._send("GET", "/review")
        found = re.search(r"X-CSRF-Token&#34;: &#34;([^&]+)|X-CSRF-Token\": \"([^\"]+)", content)
        assert found is not None
        self._csrf = found[1] or found[2]

    def _look(self) -> str:
        while True:
            try:
                status, content, _ = self._send("POST", f"/review/next?{QUERY}")
            except (OSError, http.client.HTTPException):
                threading.Event().wait(0.05)  # the studio is starting
                continue
            assert status == 200, content
            return content

    def run(self) -> None:
        try:
            self._review()
        except BaseException as error:
            self.error = error

    def _review(self) -> None:
        page, turn = self._look(), 0
        # Reviewers act at different times.
        begin = time.monotonic() + self._choice.random() / self._rate
        while not self._end.is_set():
            due = begin + turn / self._rate
            turn += 1
            if (wait := due - time.monotonic()) > 0 and self._end.wait(wait):
                return
            item = re.search(r'name="item" value="([^"]*)"', page)
            shown = re.search(r'name="shown" value="([^"]*)"', page)
            if item is None or shown is None:  # there are no more items for this reviewer
                with self._tally.lock:
                    self._tally.idle += 1
                page = self._look()
                continue
            values = self._decision(page, item[1], shown[1])
            try:
                status, answer, _ = self._send("POST", f"/review/decide?{QUERY}", values)
            except (OSError, http.client.HTTPException):
                with self._tally.lock:
                    self._tally.interrupted += 1
                page = self._look()
                # Decisions that were due during the wait are skipped.
                begin = time.monotonic() - turn / self._rate + self._choice.random() / self._rate
                continue
            took = time.monotonic() - due
            with self._tally.lock:
                if status == 200:
                    self._tally.times.append(took)
                    made = (self._name, values["item"], values["verdict"], values.get("text:context", ""))
                    self._tally.acknowledged.append(made)
                    page = answer
                else:
                    self._tally.refused.append(answer)
            if status != 200:
                page = self._look()

    def _decision(self, page: str, item: str, shown: str) -> dict[str, str]:
        values, chance = {"item": item, "shown": shown, "verdict": "keep"}, self._choice.random()
        if chance > (1 + _KEEP) / 2:
            values["verdict"] = "drop"
        elif chance > _KEEP:
            found = re.search(r'name="text:context"[^>]*>\n([^<]*)</textarea>', page)
            assert found is not None
            values["text:context"] = html.unescape(found[1]).replace("hoy", "ayer")
        return values


def load(
    folder: Path,
    *,
    reviewers: int,
    rate: float,
    seconds: float,
    kills: int = 0,
    longest_life: float = 1.5,
    seed: int = 1,
) -> dict[str, Any]:
    """Run reviewers in the workspace of a folder until the time is over and the studio was killed often enough.

    Return their observations and the stored decisions. A studio lives at most `longest_life` seconds from its first
    decisions.
    """
    studio, tally, choice = KilledStudio(folder), Tally(), random.Random(seed)
    studio.start()
    try:
        end = threading.Event()
        names = [f"r{number}" for number in range(reviewers)]
        threads = [LoadReviewer(studio, name, tally, rate / reviewers, end) for name in names]
        for thread in threads:
            thread.log_in()
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for _ in range(kills):
            # At a random moment after the restarted studio has stored something.
            before = len(tally.acknowledged)
            while len(tally.acknowledged) < before + 5 and all(thread.is_alive() for thread in threads):
                threading.Event().wait(0.01)
            threading.Event().wait(choice.random() * longest_life)
            studio.kill()
            studio.start()
        end.wait(max(0.0, began + seconds - time.monotonic()))
        end.set()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        for thread in threads:
            if thread.error:
                raise thread.error
        memory = studio.memory() if Path("/proc/self/statm").exists() else None
    finally:
        studio.kill()
    times = sorted(tally.times)
    return {
        "reviewers": reviewers,
        "seconds": round(took, 1),
        "decisions": len(times),
        "a second": round(len(times) / took, 1),
        "median_ms": _at(times, 0.5),
        "p95_ms": _at(times, 0.95),
        "p99_ms": _at(times, 0.99),
        "longest_ms": _at(times, 1.0),
        "kills": kills,
        "interrupted": tally.interrupted,
        "refused": len(tally.refused),
        "first refusal": tally.refused[0] if tally.refused else "",
        "nothing left": tally.idle,
        "memory_mb": memory and round(memory),
        **check(folder / "project", tally),
    }


def _at(times: list[float], share: float) -> float:
    return round(1000 * times[min(len(times) - 1, int(share * len(times)))], 1) if times else 0.0


def check(project: Path, tally: Tally) -> dict[str, int]:
    """Check that every acknowledged decision is in the database."""
    database = sqlite3.connect(project / DATABASE)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    stored: dict[tuple[str, str], list[tuple[str, str]]] = {}
    with open_project(project) as opened:
        everything = list(opened.store.list_decisions(undone=True))
        for made in everything:
            stored.setdefault((made.reviewer, made.item), []).append((made.verdict, made.texts.get("context", "")))
    lost = 0
    for reviewer, item, verdict, context in tally.acknowledged:
        wanted = "drop" if verdict == "drop" else "edit" if context else "accept"
        found = stored.get((reviewer, item), [])
        lost += not any(kind == wanted and (not context or text == context) for kind, text in found)
    return {"acknowledged": len(tally.acknowledged), "stored": len(everything), "lost": lost}


def openings(folder: Path, times: int) -> dict[str, float]:
    """Return the times until the first item of a project is available, each in new project threads."""
    took = []
    for _ in range(times):
        workbench = ProjectThreads()
        before = time.monotonic()
        workbench.run_review_task(folder / "project", lambda review: review.take_next_item("r0"))
        took.append(time.monotonic() - before)
        workbench.close()
    took.sort()
    return {"openings": times, "median_ms": _at(took, 0.5), "p95_ms": _at(took, 0.95)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reviewers", type=int, default=30)
    parser.add_argument("--rate", type=float, default=60.0, help="decisions per second, summed over all reviewers")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--items", type=int, default=4000)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--openings", type=int, default=0)
    options = parser.parse_args()
    os.environ["TILTMETER_CACHE"] = tempfile.mkdtemp()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_project(folder, options.items, reviewer_names(options.reviewers), agreeing=3, per_item=5)
        if options.openings:
            found: dict[str, Any] = openings(folder, options.openings)
        else:
            found = load(
                folder,
                reviewers=options.reviewers,
                rate=options.rate,
                seconds=options.seconds,
                kills=options.kills,
            )
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
