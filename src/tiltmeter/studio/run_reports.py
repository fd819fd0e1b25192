"""The HTML reports of runs, created on demand."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from tiltmeter.runs.run_files import MANIFEST, MEASURES

REPORT = "report.html"  # the name in `reports.report_files`, which takes a second to import


class RunReports:
    """Creates reports in a thread, one after the other."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reports")
        self._making: dict[Path, Future[None]] = {}
        self._lock = threading.Lock()

    def get(self, folder: Path) -> Path | None:
        """Return the report of a run; start to create it and return None if it is missing or outdated.

        An error is raised once; the next call tries again.
        """
        with self._lock:
            making = self._making.get(folder)
            if making is not None:
                if not making.done():
                    return None
                del self._making[folder]
                making.result()
                return folder / REPORT  # also if the run's files have a time in the future
            if is_current(folder):
                return folder / REPORT
            self._making[folder] = self._thread.submit(_make_report, folder)
            return None

    def wait_for(self, folder: Path) -> Path:
        """Wait for the report of a run, and return it."""
        while (path := self.get(folder)) is None:
            with self._lock:
                making = self._making.get(folder)
            if making is not None:
                wait([making])
        return path

    def close(self) -> None:
        """Stop after the current report."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def is_current(folder: Path) -> bool:
    """Return whether a run has a report that is newer than the run; a symbolic link does not count."""
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
