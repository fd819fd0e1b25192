"""The HTML reports of runs, made when they are opened."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from tiltmeter.runs.run_files import MANIFEST, MEASURES

REPORT = "report.html"  # as `reports.write` names it, which takes a second to import


class RunReports:
    """Makes reports in a thread, one after the other."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reports")
        self._making: dict[Path, Future[None]] = {}
        self._lock = threading.Lock()

    def of(self, folder: Path) -> Path | None:
        """The report of a run; None while it is being made, which this call starts if it is missing or outdated.

        An error while it was made is raised once; the next call makes it again.
        """
        with self._lock:
            making = self._making.get(folder)
            if making is not None:
                if not making.done():
                    return None
                del self._making[folder]
                making.result()
                return folder / REPORT  # also if the run's files claim to be of the future
            if is_current(folder):
                return folder / REPORT
            self._making[folder] = self._thread.submit(_make_report, folder)
            return None

    def made(self, folder: Path) -> Path:
        """The report of a run, once it is made."""
        while (path := self.of(folder)) is None:
            with self._lock:
                making = self._making.get(folder)
            if making is not None:
                wait([making])
        return path

    def close(self) -> None:
        """Stop after the report that is being made."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def is_current(folder: Path) -> bool:
    """Whether a run has a report that was made after the run; a link is none, and is replaced."""
    try:
        if (folder / REPORT).is_symlink():
            return False
        made = (folder / REPORT).stat().st_mtime_ns
        return all((folder / name).stat().st_mtime_ns <= made for name in (MANIFEST, MEASURES))
    except OSError:
        return False


def _make_report(folder: Path) -> None:
    from tiltmeter.api import report

    report(folder)
